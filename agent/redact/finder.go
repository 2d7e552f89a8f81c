package redact

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"sync"
)

const (
	// maxText limits how much of a text is searched; the rest is not shown. The writer of a text may be hostile.
	maxText = 64 << 10
	// maxAlike is how many long spellings with the same beginning are compared one by one.
	maxAlike = 16
	// certain is the length from which the beginning of a long spelling is redacted even if the rest does not follow,
	// because the text was cut there.
	certain = 16
)

// finder finds spellings of secrets in texts, in linear time: at each position it compares with at most maxAlike
// spellings.
type finder struct {
	short map[string]bool     // fewer than minInside bytes: found only as whole words
	long  map[uint64][]string // by their first 8 bytes
	crowd map[uint64]bool     // beginnings that too many share: the rest of the line is redacted too
	full  bool                // there are more than can be searched
	heads *heads
	asked sync.Once
	far   *finder // the distinct ones, computed on first use
}

func newFinder(values []string) *finder {
	f := &finder{short: map[string]bool{}, long: map[uint64][]string{}, crowd: map[uint64]bool{}, heads: &heads{}}
	bytes, n := 0, 0
	for _, v := range values {
		for _, s := range spellings(v) {
			if len(s) < MinText || f.has(s) {
				continue
			}
			if n, bytes = n+1, bytes+len(s); n > maxPatterns || bytes > maxBytes {
				return &finder{full: true}
			}
			f.heads.add(s)
			if len(s) < minInside {
				f.short[s] = true
			} else {
				f.long[key(s)] = append(f.long[key(s)], s)
			}
		}
	}
	for k, alike := range f.long {
		if len(alike) > maxAlike {
			delete(f.long, k)
			f.crowd[k] = true
		}
	}
	return f
}

func (f *finder) has(s string) bool {
	return f.short[s] || len(s) >= minInside && slices.Contains(f.long[key(s)], s)
}

// orNil returns nil if there is nothing to find.
func (f *finder) orNil() *finder {
	if f.empty() {
		return nil
	}
	return f
}

func (f *finder) empty() bool { return !f.full && len(f.short)+len(f.long)+len(f.crowd) == 0 }

// distinct returns a finder of the spellings that do not occur by chance; nil if there are none.
func (f *finder) distinct() *finder {
	f.asked.Do(func() {
		f.far = &finder{long: map[uint64][]string{}, heads: f.heads}
		for k, alike := range f.long {
			if alike = slices.DeleteFunc(slices.Clone(alike), func(s string) bool { return len(s) < distinct }); len(alike) > 0 {
				f.far.long[k] = alike
			}
		}
	})
	return f.far.orNil()
}

func key(s string) uint64 { return binary.LittleEndian.Uint64([]byte(s[:minInside])) }

// blank replaces each secret with Mark.
func (f *finder) blank(text string) string {
	if f.full && text != "" {
		return fmt.Sprintf("%s (%d bytes: the pod's secrets are more than can be looked for)", Mark, len(text))
	}
	rest := 0
	if len(text) > maxText {
		text, rest = text[:maxText], len(text)-maxText
	}
	var out strings.Builder
	cuts := []int{strings.LastIndex(text, "…"), strings.LastIndex(text, "...")}
	done := 0
	for i := 0; i+MinText <= len(text); {
		if !f.heads.has(text[i:]) {
			i++
			continue
		}
		n := f.at(text, i)
		for _, cut := range cuts {
			if n == 0 && cut-i >= MinText && cut-i < minInside && f.begins(text[i:cut]) {
				n = cut - i
			}
		}
		if n == 0 {
			i++
			continue
		}
		if shown := text[done:i]; shown != "" || done == 0 { // adjacent secrets get one Mark
			out.WriteString(shown)
			out.WriteString(Mark)
		}
		i += n
		done = i
	}
	if done == 0 && rest == 0 {
		return text
	}
	out.WriteString(text[done:])
	if rest > 0 {
		fmt.Fprintf(&out, "… (%d bytes more)", rest)
	}
	return out.String()
}

// at returns the length of the secret, or of its beginning, at position i; 0 for none.
func (f *finder) at(text string, i int) (n int) {
	if len(text)-i >= minInside {
		if f.crowd[key(text[i:])] {
			line, _, _ := strings.Cut(text[i:], "\n")
			return len(line)
		}
		for _, s := range f.long[key(text[i:])] {
			n = max(n, f.reach(text[i:], s))
		}
	}
	if n > 0 || len(f.short) == 0 || i > 0 && wordByte(text[i-1]) && wordByte(text[i]) {
		return n
	}
	for l := min(minInside-1, len(text)-i); l >= MinText; l-- {
		if f.short[text[i:i+l]] && alone(text, i, i+l) {
			return l
		}
	}
	return 0
}

// begins reports whether text is the beginning of a secret: the text was cut there.
func (f *finder) begins(text string) bool {
	for s := range f.short {
		if strings.HasPrefix(s, text) {
			return true
		}
	}
	for _, alike := range f.long {
		if slices.ContainsFunc(alike, func(s string) bool { return strings.HasPrefix(s, text) }) {
			return true
		}
	}
	return false
}

// reach returns how much of the secret s is at the start of text, if that is enough to redact it.
func (f *finder) reach(text, s string) int {
	n := minInside // the caller has compared these
	for n < len(s) && n < len(text) && s[n] == text[n] {
		n++
	}
	switch {
	case len(s) == maxValue && n == len(s): // and the text that follows it
		for n < len(text) && text[n] > ' ' && text[n] != '"' && text[n] != '\'' {
			n++
		}
		return n
	case n == len(s), n == len(text), n >= certain, strings.HasPrefix(text[n:], "…"), strings.HasPrefix(text[n:], "..."):
		return n
	}
	return 0
}
