package recording

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// scanAll reads everything with that many frames ahead, and returns the items with their positions, and the info.
func scanAll(t *testing.T, path string, depth int) (lines []string, info Info) {
	t.Helper()
	r, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	first := 0
	if r.Info().Format == FormatJSONL {
		first = 1
	}
	src, err := newFileSource(r, 0, first)
	if err != nil {
		t.Fatal(err)
	}
	src.depth = depth
	s := &Scanner{r: r, src: src}
	for {
		items, err := s.Next(nil)
		for i := range items {
			it := &items[i]
			text, err := it.Rec.AppendJSON(fmt.Appendf(nil, "lost %d session %d earlier %t ", it.Lost, it.Session, it.Earlier))
			if err != nil {
				t.Fatal(err)
			}
			lines = append(lines, string(text))
		}
		if errors.Is(err, io.EOF) {
			return lines, r.Info()
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// TestAhead: frames that are read concurrently give the same result as frames that are read one after the other.
func TestAhead(t *testing.T) {
	p, data, heads := frames(t, 12_000)
	var text []byte
	lines, _ := scanAll(t, p, 0)
	for i, line := range lines {
		_, line, _ = strings.Cut(line, "{")
		text = append(text, "{"+line+"\n"...)
		if i%1000 == 500 {
			text = append(text, "{rubbish\n\n"...)
		}
	}
	flipped, noLine := bytes.Clone(data), bytes.Clone(data)
	flipped[heads[2]+headLen+100] ^= 1 // a checksum
	noLine[heads[3]] ^= 1              // a head
	for name, content := range map[string][]byte{"whole": data, "checksum": flipped, "head": noLine, "torn": data[:len(data)-7], "lines": text} {
		t.Run(name, func(t *testing.T) {
			if err := os.WriteFile(p, content, 0o600); err != nil {
				t.Fatal(err)
			}
			want, wantInfo := scanAll(t, p, 0)
			for _, depth := range []int{1, 2, 4} {
				got, info := scanAll(t, p, depth)
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("%d ahead (-want +got):\n%.2000s", depth, diff)
				}
				if diff := cmp.Diff(wantInfo, info); diff != "" {
					t.Errorf("%d ahead (-want +got):\n%s", depth, diff)
				}
			}
		})
	}
}

// TestLongFramesAreNotReadAhead: frames that are read ahead are held in memory.
func TestLongFramesAreNotReadAhead(t *testing.T) {
	p := path(t)
	if err := os.WriteFile(p, []byte(strings.Join(texts(t, busy(3000, later, 1)), "\n")), 0o600); err != nil {
		t.Fatal(err)
	}
	r, err := Open(p)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for i := range r.frames {
		r.frames[i].raw = max(r.frames[i].raw, aheadRaw+1)
	}
	src, err := newFileSource(r, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	src.depth = maxAhead
	n := 0
	for ; err == nil; n++ {
		if len(src.queue) > 0 {
			t.Fatalf("%d frames are read ahead", len(src.queue))
		}
		_, err = src.next()
	}
	if n < 4 || !errors.Is(err, io.EOF) {
		t.Errorf("%d frames: %v", n, err)
	}
}
