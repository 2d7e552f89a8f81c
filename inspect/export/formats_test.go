package export_test

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kubeloupe/kubeloupe/inspect/export"
	"github.com/kubeloupe/kubeloupe/inspect/internal/tape"
	"github.com/kubeloupe/kubeloupe/inspect/waterfall"
	"github.com/kubeloupe/kubeloupe/trace"
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
		if err := static(&b); err != nil {
			t.Errorf("%s: %v", s.name, err)
		}
	}
}

// static reads XML and returns an error for what runs code or loads anything.
func static(r io.Reader) error {
	for d := xml.NewDecoder(r); ; {
		tok, err := d.Token()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		el, ok := tok.(xml.StartElement)
		if !ok {
			continue
		}
		if slices.Contains([]string{"script", "foreignObject", "image", "a", "use"}, el.Name.Local) {
			return fmt.Errorf("element %s", el.Name.Local)
		}
		for _, a := range el.Attr {
			if strings.HasPrefix(a.Name.Local, "on") || a.Name.Local == "href" || a.Name.Local == "style" {
				return fmt.Errorf("attribute %s of %s", a.Name.Local, el.Name.Local)
			}
		}
	}
}

// FuzzText puts foreign text wherever it may come from.
func FuzzText(f *testing.F) {
	for _, s := range []string{"", "web", `"><script>`, "]]>", "\x00\xff\u202e", "```", "| a |"} {
		f.Add(s, int64(5))
	}
	f.Fuzz(func(t *testing.T, s string, dur int64) {
		pod := trace.Pod{Namespace: s, Name: "p" + s, UID: s}
		tp := tape.New()
		tp.Point(0, pod, 0, &trace.Milestone{Name: trace.MilestoneSeen, Source: trace.SourceName(s)})
		id := tp.Begin(0, pod, 0, &trace.Action{ID: s, Verb: trace.Verb(s), Container: s, Target: s, Reason: s})
		w := tp.Begin(0, pod, id, &trace.Wait{For: trace.WaitKind(s), Target: trace.Target{Kind: trace.TargetKind(s), Namespace: s, Name: s, Container: s}, Reason: s, Cause: s, Note: s})
		tp.End(time.Duration(dur), w, nil)
		tp.End(time.Duration(dur), id, &trace.Action{ID: s, Verb: trace.Verb(s), Container: s, Err: s})
		tp.Point(time.Duration(dur), pod, 0, &trace.PodStatus{Phase: trace.PodPhase(s)})
		w2, err := waterfall.Build(tp.Recs, pod)
		if err != nil {
			return
		}
		for suffix, write := range formats {
			var b bytes.Buffer
			if err := write(&b, w2); err != nil {
				t.Fatalf("%s: %v", suffix, err)
			}
			if suffix == ".svg" {
				if err := static(&b); err != nil {
					t.Fatal(err)
				}
			}
		}
		if err := errors.Join(export.Perfetto(io.Discard, tp.Recs, export.Options{}), export.OTLPJSON(io.Discard, tp.Recs, export.Options{})); err != nil {
			t.Fatal(err)
		}
	})
}

// TestTroubleWins requires that a failed bar has the color of trouble, not that of its phase, on both backgrounds.
func TestTroubleWins(t *testing.T) {
	tp := tape.New()
	tp.Point(0, cart, 0, &trace.Milestone{Name: trace.MilestoneSeen, Source: trace.SourceAPI})
	id := tp.Begin(0, cart, 0, &trace.Action{ID: "image a", Verb: trace.VerbImage, Target: "a"})
	tp.End(time.Second, id, &trace.Action{ID: "image a", Verb: trace.VerbImage, Target: "a", Err: "not found"})
	var b bytes.Buffer
	if err := export.SVG(&b, fall(t, tp.Recs)); err != nil {
		t.Fatal(err)
	}
	text := b.String()
	if !strings.Contains(text, " kl-image kl-failed\">") {
		t.Errorf("no row of the phase image that failed:\n%s", text)
	}
	light, dark, _ := strings.Cut(text[strings.LastIndex(text, ".kl-volumes .kl-bar { fill: #008787"):], "@media")
	for _, style := range []string{light, dark} {
		phase, failed := strings.Index(style, ".kl-image .kl-bar"), strings.Index(style, ".kl-failed .kl-bar")
		if phase < 0 || failed < phase {
			t.Errorf("the rule for failures (at %d) is not after that of the phase (at %d):\n%s", failed, phase, style)
		}
	}
}
