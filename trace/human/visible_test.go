package human

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestVisible(t *testing.T) {
	for in, want := range map[string]string{
		"":                       "",
		"plain, with \"quotes\"": "plain, with \"quotes\"",
		"lines\n\tstay":          "lines\n\tstay",
		"é 日本 µ … ▸ → �":         "é 日本 µ … ▸ → �",
		"\x1b[31mred\x1b[0m":     `\u001b[31mred\u001b[0m`,
		"back\rover\b\x00\x7f":   `back\u000dover\u0008\u0000\u007f`,
		"\u0085\u009b2J":         `\u0085\u009b2J`,
		"gpj.\u202eexe":          `gpj.\u202eexe`,
		"\u2066a\u2069\u200e":    `\u2066a\u2069\u200e`,
		"a\u200bb\u2060\ufeff":   `a\u200bb\u2060\ufeff`,
		"soft\u00adhyphen":       `soft\u00adhyphen`,
		"\u2028\u2029":           `\u2028\u2029`,
		"\U000e0041tag":          `\udb40\udc41tag`,
		"👩\u200d👩":               `👩\u200d👩`,
		"⚠\ufe0f":                "⚠\ufe0f",
		"x\ufe01\U000e0100":      `x\ufe01\udb40\udd00`,
		"\u3164\u115f\u034f":     `\u3164\u115f\u034f`,
		"\ufffe\U0010ffff":       `\ufffe\udbff\udfff`,
		"e\u0301 n\u0303\u0323":  "e\u0301 n\u0303\u0323",
		"Z\u0300\u0301\u0302\u0303\u0304\u0305 Z\u0300": "Z\u0300\u0301\u0302\u0303" + `\u0304\u0305 ` + "Z\u0300",
		"\xff\xc3(":    `\xff\xc3(`,
		"\xed\xa0\x80": `\xed\xa0\x80`,
	} {
		if got := Visible(in); got != want {
			t.Errorf("Visible(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestLine(t *testing.T) {
	for in, want := range map[string]string{
		"two  spaces stay": "two  spaces stay", "a\n\tb": "a b", "\r\n a\v\fb": "a b", "": "",
		"\x1b[31mred\n": `\u001b[31mred`, "\u009b31m": `\u009b31m`, "a\u2028b": `a\u2028b`,
	} {
		if got := Line(in); got != want {
			t.Errorf("Line(%q) = %q, want %q", in, got, want)
		}
	}
}

// TestNothingAllocated checks text that needs no escapes.
func TestNothingAllocated(t *testing.T) {
	s, b := strings.Repeat("RunPodSandbox shop/cart\n", 20), []byte(`{"a":"b"}`)
	if n := testing.AllocsPerRun(100, func() { Visible(s); JSON(b); Line("RunPodSandbox") }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// hostile reports whether text has characters that must be escaped, except newlines and tabs.
func hostile(s string) bool {
	var m Marks
	for _, r := range s {
		if Hidden(r) && r != '\n' && r != '\t' || m.Over(r) {
			return true
		}
	}
	return !utf8.ValidString(s)
}

func FuzzVisible(f *testing.F) {
	for _, s := range []string{"plain", "\x1b[31m\u202e\u200d\U000e0041\xff\xc3", "e\u0301\u0301\u0301\u0301\u0301\u0301", "\u2028\n\t\r", `\u202e`, "\xf0\x9f"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		v := Visible(s)
		if hostile(v) || Visible(v) != v {
			t.Errorf("Visible(%q) = %q, again %q", s, v, Visible(v))
		}
		if l := Line(s); hostile(l) || strings.ContainsAny(l, "\n\t") || Line(l) != l {
			t.Errorf("Line(%q) = %q, again %q", s, l, Line(l))
		}
		before, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		after := JSON(before)
		var a, b string
		if json.Unmarshal(before, &a) != nil || json.Unmarshal(after, &b) != nil || a != b || hostile(string(after)) {
			t.Errorf("JSON(%q) = %q", before, after)
		}
		for _, size := range []int{1, 3, 1 << 20} { // whatever the pieces are, nothing hostile is written
			var out bytes.Buffer
			w := Writer(&out)
			for rest := []byte(s + "\n"); len(rest) > 0; {
				n, err := w.Write(rest[:min(size, len(rest))])
				if err != nil {
					t.Fatal(err)
				}
				rest = rest[n:]
			}
			for _, r := range out.String() {
				if Hidden(r) && r != '\n' && r != '\t' {
					t.Errorf("%q in pieces of %d: %q", s, size, out.String())
				}
			}
			if size == 1<<20 && out.String() != Visible(s+"\n") {
				t.Errorf("%q: %q, want %q", s, out.String(), Visible(s+"\n"))
			}
		}
	})
}
