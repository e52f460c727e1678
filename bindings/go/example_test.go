package backchat_test

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"backchat"
)

// stream parses one answer. send gets each delta, for choices[0].delta of a chunk.
func stream(template *backchat.Template, prompt string, pieces <-chan string, send func(json.RawMessage)) (string, error) {
	parser, err := template.Parser(prompt, backchat.Options{Chat: backchat.ChatGrowing})
	if err != nil {
		return "", err
	}
	defer parser.Close()
	for piece := range pieces {
		if _, err := parser.Feed(piece); err != nil {
			return "", err
		}
		if err := sendReady(parser, send); err != nil {
			return "", err
		}
	}
	if _, err := parser.Finish(false); err != nil { // true if the engine stopped at its limit
		return "", err
	}
	if err := sendReady(parser, send); err != nil { // text that was held until the end
		return "", err
	}
	return parser.FinishReason() // for finish_reason of the last chunk
}

func sendReady(parser *backchat.Parser, send func(json.RawMessage)) error {
	deltas, err := parser.Deltas()
	for _, delta := range deltas {
		send(delta)
	}
	return err
}

func Example() {
	template, err := backchat.Load(templateJSON)
	if err != nil {
		panic(err)
	}
	defer template.Close()
	pieces := make(chan string, 4)
	for _, piece := range []string{"I know.</th", "ink>It is", " 7 degrees, so 7", " <"} {
		pieces <- piece
	}
	close(pieces)
	reason, err := stream(template, "<user>Is it warm?<bot><think>", pieces, func(delta json.RawMessage) {
		fmt.Println(string(delta))
	})
	fmt.Println(reason, err)
	// Output:
	// {"reasoning_content": "I know."}
	// {"content": "It is"}
	// {"content": " 7 degrees, so 7"}
	// {"content": " "}
	// {"content": "<"}
	// stop <nil>
}

// The functions above are those of the documentation.
func TestTheSnippetOfTheDocumentation(t *testing.T) {
	page, err := os.ReadFile("../../docs/embedding.md")
	if err != nil {
		t.Skip("not in the repository:", err)
	}
	source, err := os.ReadFile("example_test.go")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(page), "```go\n")
	snippet, _, found := strings.Cut(rest, "```")
	if !found || !strings.Contains(string(source), snippet) {
		t.Errorf("not in this file:\n%s", snippet)
	}
}
