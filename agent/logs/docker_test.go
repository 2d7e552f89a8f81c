package logs

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// docker returns an entry that Docker writes of a text of stdout.
func docker(text string) string { return dockerOf(text, "stdout", t1) }

func dockerOf(text, stream, at string) string {
	p, err := json.Marshal(map[string]string{"log": text, "stream": stream, "time": at})
	if err != nil {
		panic(err)
	}
	return string(p) + "\n"
}

// The first entry that is understood determines the format of a log.
func TestDocker(t *testing.T) {
	all := docker("one\n") + dockerOf("tw", "stderr", t2) + dockerOf("o\n", "stderr", t2) + "rubbish\n" + docker("\x00\"é\u2028\n") + `{"log":"no stream\n"}` + "\n" +
		t1 + " stdout F not of this format\n" + docker("\n")
	after, err := time.Parse(time.RFC3339, "2026-01-02T03:04:06Z")
	if err != nil {
		t.Fatal(err)
	}
	longest := strings.Repeat("\x00", 16<<10) // as much as Docker writes in an entry, in its longest form
	tooLong := strings.Repeat("x", 8<<20)
	for _, c := range []struct {
		name, log   string
		opts        Options
		out, errOut string
	}{
		{"all", all, Options{}, "one\n\x00\"é\u2028\n\n", "two\n"},
		{"timestamps", all, Options{Timestamps: true, Tail: new(int64(7))}, t1 + " \x00\"é\u2028\n" + t1 + " \n", "2026-01-02T03:04:06.500000000Z two\n"},
		{"since", all, Options{Since: after}, "", "two\n"},
		{"limit", all, Options{Limit: new(int64(5))}, "one\n", "t"},
		{"of the CRI", t1 + " stdout F one\n" + docker("not of this format\n") + t1 + " stdout F two\n", Options{}, "one\ntwo\n", ""},
		{"the longest of Docker's", docker(longest) + docker("\n"), Options{Timestamps: true}, t1 + " " + longest + "\n", ""},
		{"too long", docker("one\n") + docker(tooLong) + docker("two\n"), Options{}, "one\ntwo\n", ""},
		{"too long at the start", docker(tooLong) + docker("two\n"), Options{}, "two\n", ""},
		{"without an end", docker("one\n") + strings.TrimSuffix(docker("two"), "\n"), Options{}, "one\ntwo", ""},
		{"half an entry", docker("one\n") + `{"log":"tw`, Options{}, "one\n", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "0.log")
			write(t, path, c.log)
			l, err := open(t, path, c.opts)
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			var out, errOut bytes.Buffer
			if err := l.Copy(t.Context(), nil, nil, &out, &errOut); err != nil {
				t.Fatal(err)
			}
			if out.String() != c.out || errOut.String() != c.errOut {
				t.Errorf("stdout %.300q stderr %.300q, want %.300q and %.300q", out.String(), errOut.String(), c.out, c.errOut)
			}
			if have := cap(l.part); have > 4*maxDocker {
				t.Errorf("%d bytes are kept of an entry", have)
			}
		})
	}
}

// A log of neither format is an error, which quotes its first entry.
func TestNoFormat(t *testing.T) {
	for _, entry := range []string{`{"log":"x","stream":"stdin"}`, `{"log":"x","stream":"stdout","time":"now"}`, `["log"]`, "{" + strings.Repeat("x", 1<<20)} {
		path := filepath.Join(t.TempDir(), "0.log")
		write(t, path, entry+"\n"+docker("one\n"))
		l, err := open(t, path, Options{})
		if err != nil {
			t.Fatal(err)
		}
		err = l.Copy(t.Context(), nil, nil, io.Discard, io.Discard)
		if !errors.Is(err, errTime) || len(err.Error()) > 1000 {
			t.Errorf("%.100q: %v", entry, err)
		}
		l.Close()
	}
}

func TestLines(t *testing.T) {
	for _, c := range []struct {
		name, log string
		want      []string
	}{
		{"nothing", "", nil},
		{"of the CRI", sample(), []string{"one\n", "two\n", "three\n", "\n"}},
		{"of Docker", docker("a\n") + docker("b") + docker("c\n") + docker("d"), []string{"a\n", "bc\n", "d"}},
		{"of neither, first", "rubbish x y z\n" + docker("a\n") + t1 + " stdout F b\n", []string{"a\n"}},
		{"of neither", "rubbish x y z\n" + `{"log":"a\n"}`, nil},
	} {
		if d := cmp.Diff(c.want, Lines([]byte(c.log))); d != "" {
			t.Errorf("%s: (-want +got)\n%s", c.name, d)
		}
	}
}
