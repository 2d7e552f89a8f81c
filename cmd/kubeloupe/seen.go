package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"

	"sigs.k8s.io/yaml"

	"github.com/kubeloupe/kubeloupe/inspect/attach/bundle"
	"github.com/kubeloupe/kubeloupe/trace/human"
)

// withSeen lets write write a report, and adds what it is made from: as the field seen_by of a JSON object or a YAML mapping, else as lines.
// Nothing is added where it is made from an agent's own records.
func (o *observed) withSeen(w io.Writer, format string, write func(io.Writer) error) error {
	if o.log == nil {
		return write(w)
	}
	seen := bundle.SeenBy(o.log.Told())
	switch format {
	case "json":
		var b bytes.Buffer
		if err := write(&b); err != nil {
			return err
		}
		return addField(w, b.Bytes(), seen)
	case "yaml":
		text, err := yaml.Marshal(map[string][]string{"seen_by": seen})
		if err != nil {
			return err
		}
		if err := write(w); err != nil {
			return err
		}
		_, err = human.Writer(w).Write(text)
		return err
	case "text", "table", "wide":
		if err := write(w); err != nil {
			return err
		}
		for _, line := range seen {
			if _, err := fmt.Fprintln(textOut(w), line); err != nil {
				return err
			}
		}
		return nil
	}
	return write(w)
}

// addField adds the field seen_by to the end of an indented JSON object.
func addField(w io.Writer, object []byte, seen []string) error {
	value, err := json.MarshalIndent(seen, "  ", "  ")
	if err != nil {
		return err
	}
	head := bytes.TrimSpace(object[:max(bytes.LastIndexByte(object, '}'), 0)])
	comma := ","
	if bytes.HasSuffix(head, []byte("{")) {
		comma = ""
	}
	_, err = fmt.Fprintf(w, "%s%s\n  \"seen_by\": %s\n}\n", head, comma, human.JSON(value))
	return err
}
