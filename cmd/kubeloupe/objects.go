package main

import (
	"bytes"
	"io"
	"strings"

	"github.com/kubeloupe/kubeloupe/inspect/report"
)

// objectFormats are the forms of JSON that a command with -o json also prints.
const objectFormats = "json, yaml, jsonpath=TEMPLATE"

// formatList lists formats for help texts and errors.
func formatList(formats []string) string {
	var all []string
	for _, f := range formats {
		if f == "json" {
			f = objectFormats
		}
		all = append(all, f)
	}
	return strings.Join(all, ", ")
}

// objectFormat returns how -o is made: json for each form of JSON, which is in form, else output itself.
func objectFormat(output string) (made string, form report.Format, err error) {
	if !report.OfObject(report.Format(output)) {
		return output, "", nil
	}
	form, err = report.ParseFormat(output)
	return "json", form, err
}

// asObject lets write write JSON, and writes that in its form.
func asObject(w io.Writer, form report.Format, write func(io.Writer) error) error {
	if form == "" || form == report.JSON {
		return write(w)
	}
	var b bytes.Buffer
	if err := write(&b); err != nil {
		return err
	}
	if err := report.Object(w, b.Bytes(), form); err != nil {
		return userError{err}
	}
	return nil
}
