// The driver reads rows {"id", "template", "prefix", "text", "tools", "chunks"} from standard input, feeds each text in chunks
// of so many code points, and writes the answers as `backchat parse --jsonl - --events` does.
//
//	driver [stable|reference] < rows.jsonl
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"os"

	"backchat"
)

type row struct {
	ID       json.RawMessage `json:"id"`
	Template json.RawMessage `json:"template"`
	Prefix   *string         `json:"prefix"`
	Text     string          `json:"text"`
	Tools    json.RawMessage `json:"tools"`
	Chunks   []int           `json:"chunks"`
}

type event struct {
	Type   string          `json:"type"`
	Field  string          `json:"field"`
	Text   *string         `json:"text,omitempty"`
	Dirty  *bool           `json:"dirty,omitempty"`
	Value  json.RawMessage `json:"value,omitempty"`
	Reason *string         `json:"reason,omitempty"`
}

type answer map[string]any

// listed has the events as the command writes them; problems have a key of their own.
func listed(events []backchat.Event) []event {
	list := []event{}
	for i := range events {
		e := &events[i]
		switch e.Kind {
		case backchat.Open:
			list = append(list, event{Type: "region_open", Field: e.Field})
		case backchat.Chunk:
			list = append(list, event{Type: "region_chunk", Field: e.Field, Text: &e.Text, Dirty: &e.Dirty})
		case backchat.Close:
			list = append(list, event{Type: "region_close", Field: e.Field, Value: e.Value})
		case backchat.Malformed:
			list = append(list, event{Type: "region_malformed", Field: e.Field, Text: &e.Text, Reason: &e.Detail})
		}
	}
	return list
}

func parse(r *row, reference bool, to answer) error {
	template, err := backchat.Load(string(r.Template))
	if err != nil {
		return err
	}
	defer template.Close()
	options := backchat.Options{Reference: reference}
	// The command reads an object as no tools, as transformers does; the library refuses it.
	if len(r.Tools) > 0 && string(r.Tools) != "null" && r.Tools[0] != '{' {
		if options.Tools, err = backchat.LoadTools(string(r.Tools)); err != nil {
			return err
		}
		defer options.Tools.Close()
	}
	if r.Prefix == nil {
		return &backchat.Error{Message: "the row has no prefix", Stage: "prefix"}
	}
	parser, err := template.Parser(*r.Prefix, options)
	if err != nil {
		return err
	}
	defer parser.Close()
	to["initial_events"] = listed(parser.Initial())
	feeds, rest := [][]event{}, []rune(r.Text)
	for _, count := range r.Chunks {
		if count > len(rest) {
			count = len(rest)
		}
		events, err := parser.Feed(string(rest[:count]))
		if rest = rest[count:]; err != nil {
			to["feeds"] = feeds
			return err
		}
		feeds = append(feeds, listed(events))
	}
	to["feeds"] = feeds
	last, err := parser.Finish(false)
	if err != nil {
		return err
	}
	to["final_events"] = listed(last)
	report, err := parser.Report()
	if err == nil {
		var lists map[string]json.RawMessage
		err = json.Unmarshal(report, &lists)
		for key, list := range lists {
			to[key] = list
		}
	}
	if err == nil {
		to["message"], err = parser.Message()
	}
	return err
}

// write avoids json.Marshal for values, which would refuse NaN and reformat the rest.
func write(out *bufio.Writer, to answer) {
	out.WriteString("{")
	first := true
	for key, value := range to {
		if !first {
			out.WriteString(", ")
		}
		first = false
		name, _ := json.Marshal(key)
		out.Write(name)
		out.WriteString(": ")
		writeValue(out, value)
	}
	out.WriteString("}\n")
}

func writeValue(out *bufio.Writer, value any) {
	separator := func(i int) {
		if i > 0 {
			out.WriteString(", ")
		}
	}
	switch value := value.(type) {
	case json.RawMessage:
		out.Write(value)
	case [][]event:
		out.WriteString("[")
		for i, events := range value {
			separator(i)
			writeValue(out, events)
		}
		out.WriteString("]")
	case []event:
		out.WriteString("[")
		for i, e := range value {
			separator(i)
			raw := e.Value
			e.Value = nil
			text, _ := json.Marshal(e)
			if raw != nil {
				text = append(bytes.TrimSuffix(text, []byte("}")), ", \"value\": "...)
				text = append(append(text, raw...), '}')
			}
			out.Write(text)
		}
		out.WriteString("]")
	default:
		text, _ := json.Marshal(value)
		out.Write(text)
	}
}

func main() {
	reference := len(os.Args) > 1 && os.Args[1] == "reference"
	in, out := bufio.NewReaderSize(os.Stdin, 1<<20), bufio.NewWriter(os.Stdout)
	defer out.Flush()
	for {
		line, err := in.ReadBytes('\n')
		if len(bytes.TrimSpace(line)) > 0 {
			var r row
			if err := json.Unmarshal(line, &r); err != nil {
				panic(err)
			}
			to := answer{}
			if err := parse(&r, reference, to); err != nil {
				var failed *backchat.Error
				stage := "load"
				if errors.As(err, &failed) && failed.Stage != "" {
					stage = failed.Stage
				}
				to["error"] = map[string]string{"stage": stage, "message": err.Error()}
			}
			to["id"] = r.ID
			write(out, to)
		}
		if err != nil {
			return
		}
	}
}
