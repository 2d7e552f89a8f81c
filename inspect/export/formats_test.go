package export_test

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/kubeloupe/kubeloupe/inspect/export"
	"github.com/kubeloupe/kubeloupe/inspect/waterfall"
)

// formats are those of a waterfall, by the suffix of their golden files.
var formats = map[string]func(io.Writer, *waterfall.Waterfall) error{
	".txt":  func(w io.Writer, f *waterfall.Waterfall) error { return export.Text(w, f, export.TextOptions{}) },
	".json": export.JSON,
	".svg":  export.SVG,
	".md":   func(w io.Writer, f *waterfall.Waterfall) error { return export.Markdown(w, f, findings()) },
	".html": func(w io.Writer, f *waterfall.Waterfall) error { return export.HTML(w, f, findings()) },
}

func TestFormats(t *testing.T) {
	for _, s := range samples() {
		f := fall(t, s.recs)
		for suffix, write := range formats {
			t.Run(s.name+suffix, func(t *testing.T) {
				var b bytes.Buffer
				if err := write(&b, f); err != nil {
					t.Fatal(err)
				}
				golden(t, s.name+suffix, b.Bytes())
				if err := write(broken{}, f); err == nil || !strings.Contains(err.Error(), "disk full") {
					t.Errorf("a writer that fails: got %v", err)
				}
			})
		}
	}
}

// TestSVGIsXML reads every picture with a strict parser.
func TestSVGIsXML(t *testing.T) {
	for _, s := range samples() {
		var b bytes.Buffer
		if err := export.SVG(&b, fall(t, s.recs)); err != nil {
			t.Fatal(err)
		}
		d := xml.NewDecoder(&b)
		for {
			tok, err := d.Token()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatalf("%s: %v", s.name, err)
			}
			el, ok := tok.(xml.StartElement)
			if !ok {
				continue
			}
			if el.Name.Local == "script" || el.Name.Local == "foreignObject" || el.Name.Local == "image" {
				t.Errorf("%s: element %s", s.name, el.Name.Local)
			}
			for _, a := range el.Attr {
				if strings.HasPrefix(a.Name.Local, "on") || a.Name.Local == "href" {
					t.Errorf("%s: attribute %s of %s", s.name, a.Name.Local, el.Name.Local)
				}
			}
		}
	}
}
