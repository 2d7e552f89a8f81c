package main

import (
	"encoding/xml"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParse(t *testing.T) {
	type part struct {
		Text, Fg, Bg string
		Bold         bool
	}
	for _, c := range []struct {
		name, line string
		want       []part
	}{
		{"plain", "ab", []part{{"ab", dark.ink, "", false}}},
		{"sixteen colours", "\x1b[31mr\x1b[39md\x1b[92mg", []part{{"r", palette[1], "", false}, {"d", dark.ink, "", false}, {"g", palette[10], "", false}}},
		{"256 colours", "\x1b[38;5;196mr\x1b[48;5;244mg\x1b[0m.", []part{{"r", "#ff0000", "", false}, {"g", "#ff0000", "#808080", false}, {".", dark.ink, "", false}}},
		{"any colour, with colons", "\x1b[38:2:1:2:255mx", []part{{"x", "#0102ff", "", false}}},
		{"bold and reverse", "\x1b[1;7ma\x1b[27mb\x1b[m c", []part{{"a", dark.ground, dark.ink, true}, {"b", dark.ink, "", true}, {" c", dark.ink, "", false}}},
		{"faint", "\x1b[2mx", []part{{"x", mix(dark.ink, dark.ground), "", false}}},
		{"columns stay apart", "a  b c", []part{{"a", dark.ink, "", false}, {"b c", dark.ink, "", false}}},
		{"bars are their own", "x▇▇ 1s", []part{{"x", dark.ink, "", false}, {"▇▇", dark.ink, "", false}, {" 1s", dark.ink, "", false}}},
		{"cut off", "\x1b[38;5mx\x1b[38mx", []part{{"x", palette[0], "", false}, {"x", dark.ink, "", false}}},
	} {
		cells, _ := parse(c.line, style{})
		var got []part
		for _, r := range runs(cells) {
			got = append(got, part{string(r.text), r.style.foreground(dark), r.style.background(dark), r.style.bold})
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}

// The picture is well-formed whatever is on screen, and holds the text.
func TestSVG(t *testing.T) {
	got := svg("a < b & \"c\"\n\x1b[7m sel \x1b[0m\n", "it's <a> title", 110, dark)
	var all strings.Builder
	for d := xml.NewDecoder(strings.NewReader(got)); ; {
		tok, err := d.Token()
		if tok == nil {
			if err.Error() != "EOF" {
				t.Fatalf("%v in\n%s", err, got)
			}
			break
		}
		if text, ok := tok.(xml.CharData); ok {
			all.Write(text)
		}
	}
	for _, want := range []string{`a < b & "c"`, "sel", "it's <a> title"} {
		if !strings.Contains(all.String(), want) {
			t.Errorf("no %q in the text of\n%s", want, got)
		}
	}
	if !strings.Contains(got, `<rect x="14.0" y="32" width="42.0"`) {
		t.Errorf("no ground behind what is selected in\n%s", got)
	}
}

// TestMoving: each line is drawn once for as long as it stays, and the times of all that stand at one place follow each other without a gap.
func TestMoving(t *testing.T) {
	got := moving([]string{"a\nsame", "b\nsame", "b\nsame", "c\nsame"}, "t")
	if n := strings.Count(got, ">same</text>"); n != 1 {
		t.Errorf("a line that stays is drawn %d times", n)
	}
	for _, want := range []string{
		`values="visible;hidden" keyTimes="0.0000;0.2500"`, `values="hidden;visible;hidden" keyTimes="0.0000;0.2500;0.7500"`,
		`values="hidden;visible" keyTimes="0.0000;0.7500"`, `values="visible" keyTimes="0.0000"`,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %s in\n%s", want, got)
		}
	}
	if err := xml.Unmarshal([]byte(got), new(struct{})); err != nil {
		t.Error(err)
	}
}
