module backchat

go 1.19
