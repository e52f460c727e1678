package backchat_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"backchat"
)

const templateJSON = `{
	"start_anchor": "<bot>", "defaults": {"role": "assistant"},
	"fields": {
		"thinking": {"open": "<think>", "close": "</think>"},
		"tool_calls": {"open": "<call>", "close": "</call>", "repeats": true, "content": "json",
			"transform": {"type": "function", "function": {"name": "{content.name}", "arguments": "{content.arguments}"}}},
		"content": {"close": "<end>"}}}`

func load(t *testing.T) *backchat.Template {
	template, err := backchat.Load(templateJSON)
	if err != nil {
		t.Fatal(err)
	}
	return template
}

func TestEventsHaveTheirValuesAndPlaces(t *testing.T) {
	parser, err := load(t).Parser("<bot>", backchat.Options{GrowCalls: true})
	if err != nil {
		t.Fatal(err)
	}
	var kinds []string
	for _, piece := range []string{"é<call>", `{"name": "f", "arguments": {"n": 1}}`, "</call>"} {
		events, err := parser.Feed(piece)
		if err != nil {
			t.Fatal(err)
		}
		for _, event := range events {
			kinds = append(kinds, fmt.Sprint(event.Kind, event.Field, " ", event.Text, " ", event.Start, "-", event.End))
			if event.Kind == backchat.Close && event.Field == "tool_calls" &&
				string(event.Value) != `{"type": "function", "function": {"name": "f", "arguments": {"n": 1}}}` {
				t.Error(string(event.Value))
			}
		}
	}
	const want = `0content  0-0
1content é 0-2
2content  2-2
0tool_calls  2-8
1tool_calls {"name": "f", "arguments": {"n": 1}} 8-44
4tool_calls f 0-0
5tool_calls {"n": 1} 0-0
2tool_calls  44-51`
	if got := strings.Join(kinds, "\n"); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestErrorsNameTheProblemAndItsPlace(t *testing.T) {
	_, err := backchat.Load(`{"start_anchor": "<bot>", "fields": {"content": {"close": 7}}}`)
	var failed *backchat.Error
	if !errors.As(err, &failed) || failed.Code != -5 || failed.Path != "fields.content.close" {
		t.Errorf("%#v", err)
	}
	parser, err := load(t).Parser("<bot>", backchat.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err = parser.Feed("\xc3"); !errors.As(err, &failed) || failed.Code != -3 {
		t.Errorf("half of a character: %v", err)
	}
	parser.Finish(false)
	if _, err = parser.Feed("x"); !errors.As(err, &failed) || failed.Code != -7 {
		t.Errorf("after the end: %v", err)
	}
	if _, err = load(t).Parser("", backchat.Options{Recover: "json-comma"}); !errors.As(err, &failed) || failed.Code != -4 {
		t.Errorf("an unknown policy: %v", err)
	}
}

func TestIDsAreReadByTheirTokens(t *testing.T) {
	tokens, err := backchat.LoadTokens(`{"added_tokens": [{"id": 2, "content": "<think>"}, {"id": 3, "content": "</think>"}],
		"decoder": {"type": "ByteLevel"}, "model": {"vocab": {"Hm": 0, "</think>": 1, "Yes": 4, "<end>": 5}}}`)
	if err != nil {
		t.Fatal(err)
	}
	template, err := load(t).WithTokens(tokens, backchat.Exact)
	if err != nil {
		t.Fatal(err)
	}
	parser, err := template.Parser("<bot>", backchat.Options{Chat: backchat.ChatWhole, StopIDs: []uint32{5}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := parser.FeedIDs([]uint32{2, 0, 1, 3, 4, 5, 0}); err != nil {
		t.Fatal(err)
	}
	parser.Finish(false)
	deltas, err := parser.Deltas()
	if err != nil || fmt.Sprintf("%s", deltas) != `[{"reasoning_content": "Hm</think>"} {"content": "Yes"}]` {
		t.Errorf("%s, %v", deltas, err)
	}
}

func TestGoroutinesShareATemplate(t *testing.T) {
	template := load(t)
	var group sync.WaitGroup
	for i := 0; i < 64; i++ {
		group.Add(1)
		go func(i int) {
			defer group.Done()
			want := fmt.Sprintf(`{"role": "assistant", "content": "%d %d"}`, i, i)
			parser, err := template.Parser("<bot>", backchat.Options{})
			if err != nil {
				t.Error(err)
				return
			}
			for _, c := range fmt.Sprintf("%d %d<end>", i, i) {
				if _, err := parser.Feed(string(c)); err != nil {
					t.Error(err)
				}
			}
			parser.Finish(false)
			if message, err := parser.Message(); string(message) != want {
				t.Errorf("%s, %v", message, err)
			}
		}(i)
	}
	group.Wait()
}

func TestClosedHandlesAreRefused(t *testing.T) {
	template := load(t)
	tools, err := backchat.LoadTools(`[{"type": "function", "function": {"name": "f", "parameters": {}}}]`)
	if err != nil {
		t.Fatal(err)
	}
	tokens, err := backchat.LoadTokens(`{"model": {"vocab": {"Hm": 0}}}`)
	if err != nil {
		t.Fatal(err)
	}
	parser, err := template.Parser("<bot>", backchat.Options{Tools: tools, Chat: backchat.ChatGrowing})
	if err != nil {
		t.Fatal(err)
	}
	begin := func(template *backchat.Template, tools *backchat.Tools) error {
		_, err := template.Parser("<bot>", backchat.Options{Tools: tools})
		return err
	}
	with := func(template *backchat.Template, tokens *backchat.Tokens) error {
		_, err := template.WithTokens(tokens, backchat.Exact)
		return err
	}
	for i := 0; i < 2; i++ {
		tools.Close()
		tokens.Close()
	}
	refused := map[string]error{"tools": begin(template, tools), "tokens": with(template, tokens)}
	template.Close()
	template.Close()
	refused["template"] = begin(template, nil)
	refused["no template"] = begin(&backchat.Template{}, nil)

	// The parser outlives what it was made with.
	if events, err := parser.Feed("Hi<end>"); err != nil || len(events) == 0 {
		t.Errorf("%v, %v", events, err)
	}
	parser.Close()
	parser.Close()
	_, refused["feed"] = parser.Feed("x")
	_, refused["feed ids"] = parser.FeedIDs([]uint32{0})
	_, refused["finish"] = parser.Finish(false)
	_, refused["deltas"] = parser.Deltas()
	_, refused["finish reason"] = parser.FinishReason()
	_, refused["message"] = parser.Message()
	_, refused["report"] = parser.Report()
	for use, err := range refused {
		if !errors.Is(err, backchat.ErrClosed) {
			t.Errorf("%s: %v", use, err)
		}
	}
}

// A handle stays open until the calls that use it have returned.
func TestClosingDuringUse(t *testing.T) {
	for i := 0; i < 100; i++ {
		template := load(t)
		parser, err := template.Parser("<bot>", backchat.Options{})
		if err != nil {
			t.Fatal(err)
		}
		var group sync.WaitGroup
		group.Add(4)
		for _, use := range []func() error{
			func() error { _, err := template.Parser("<bot>", backchat.Options{}); return err },
			func() error { _, err := parser.Feed("Hi"); return err },
			func() error { template.Close(); return nil },
			func() error { parser.Close(); return nil },
		} {
			go func(use func() error) {
				defer group.Done()
				if err := use(); err != nil && !errors.Is(err, backchat.ErrClosed) {
					t.Error(err)
				}
			}(use)
		}
		group.Wait()
	}
}
