package logs

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kubeloupe/kubeloupe/agent/guestfile"
)

// FuzzEntry parses an entry of a log and compares with a simple parser. A container writes the text.
func FuzzEntry(f *testing.F) {
	for _, s := range []string{
		"", "2016-10-06T00:17:09.669794202Z stdout F text\n", "2016-10-06T00:17:09Z stderr P begins\n", "2016-10-06T00:17:09.669794202+02:00 stdout P:more:tags x",
		"2016-10-06T00:17:09Z stdout F\n", "2016-10-06T00:17:09Z stdout F \n", "2016-10-06T00:17:09Z stdin F x\n", "x stdout F x\n", "2016-10-06T00:17:09Z  F x",
		"2016-13-06T00:17:09Z stdout F x", "2016-10-06T00:17:09,5Z stdout F x", "{\"log\":\"x\"}\n", "\x00\xff", "2016-10-06T00:17:09Z stdout : x",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, entry []byte) {
		got, err := parseCRI(entry)
		parts := strings.SplitN(string(entry), " ", 4)
		at, bad := time.Parse(time.RFC3339Nano, parts[0])
		want := bad == nil && len(parts) == 4 && (parts[1] == "stdout" || parts[1] == "stderr")
		if (err == nil) != want {
			t.Fatalf("%v, want it understood: %v", err, want)
		}
		if err != nil {
			return
		}
		text := parts[3]
		partial := strings.SplitN(parts[2], ":", 2)[0] == "P"
		if partial {
			text = strings.TrimSuffix(text, "\n")
		}
		if string(got.text) != text || got.partial != partial || got.stderr != (parts[1] == "stderr") || !got.at.Equal(at) {
			t.Fatalf("%+v, want %q", got, text)
		}
	})
}

// FuzzDocker parses an entry in Docker's format, and the entry that Docker would write of the result.
func FuzzDocker(f *testing.F) {
	for _, s := range []string{
		docker("text\n"), docker(""), docker("\x00\xff\u2028"), `{"log":"x"}`, `{"log":"x","stream":"stdin"}`, `{"LOG":"x","stream":"stderr"}`, `null`, `[]`, `{`, ``,
		`{"log":1,"stream":"stdout"}`, `{"log":"x","stream":"stdout","time":"now"}`, docker("x") + docker("y"), `{"log":"x","stream":"stdout","attrs":{"a":[{}]}}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, entry []byte) {
		got, err := parseDocker(entry)
		if err != nil {
			return
		}
		if len(got.text) > 3*len(entry) { // an invalid byte becomes three
			t.Fatalf("%d bytes of %d", len(got.text), len(entry))
		}
		stream := "stdout"
		if got.stderr {
			stream = "stderr"
		}
		p, err := json.Marshal(map[string]any{"log": string(got.text), "stream": stream, "time": got.at})
		if err != nil {
			t.Fatal(err)
		}
		again, err := parseDocker(p)
		if err != nil || !bytes.Equal(again.text, got.text) || again.stderr != got.stderr || !again.at.Equal(got.at) {
			t.Fatalf("%+v, %v, want %+v", again, err, got)
		}
	})
}

// FuzzTail finds where the last entries begin, and compares with a reader from the start.
func FuzzTail(f *testing.F) {
	for _, s := range []string{"", "\n", "a\nb\nc\n", "a\nb\nc", "\n\n\n\n", strings.Repeat("x", tailBlock) + "\n" + strings.Repeat("y\n", tailBlock)} {
		for _, n := range []int64{-1, 0, 1, 2, 5, 1 << 62} {
			f.Add([]byte(s), n)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte, n int64) {
		file := &counting{r: bytes.NewReader(data)}
		got, err := tailStart(t.Context(), file, int64(len(data)), n)
		if err != nil {
			t.Fatal(err)
		}
		want := int64(0)
		newlines := int64(bytes.Count(data, []byte("\n")))
		for i, b := range data {
			if b == '\n' && newlines > max(n, 0) { // more than n entries follow it
				newlines--
				want = int64(i) + 1
			}
		}
		if got != want {
			t.Fatalf("at %d of %d, want %d", got, len(data), want)
		}
		// It reads no more than necessary from the end, and nothing twice.
		if file.n > int64(len(data))-got+tailBlock || file.n > int64(len(data)) {
			t.Fatalf("%d bytes read for the last %d of %d", file.n, int64(len(data))-got, len(data))
		}
	})
}

// counting counts the bytes read.
type counting struct {
	r io.ReaderAt
	n int64
}

func (c *counting) ReadAt(p []byte, off int64) (int, error) {
	c.n += int64(len(p))
	return c.r.ReadAt(p, off)
}

// FuzzLog copies a whole log, and compares with a reader that splits it into lines.
func FuzzLog(f *testing.F) {
	const entry = "2016-10-06T00:17:09.669794202Z stdout F text\n"
	for _, s := range []string{
		"", entry, entry + entry + "2016-10-06T00:17:09Z stderr P be", "junk\n" + entry, entry + "junk\n" + strings.Replace(entry, "F", "P", 1) + entry,
		"2016-10-06T00:17:09Z stdout F " + strings.Repeat("long ", 30_000) + "\n" + entry, strings.Repeat("x", 100_000), entry + strings.Repeat("\n", 1000),
		"2016-10-06T00:17:09Z stdout P " + strings.Repeat("long ", 30_000) + "\n" + entry,
		docker("a\n") + docker("b") + entry + docker("c\n"), entry + docker("a\n") + entry, docker(strings.Repeat("\x00", 16<<10)) + docker("\n"),
		docker(strings.Repeat("long ", 40_000)) + docker("a\n"),
	} {
		f.Add([]byte(s), int64(-1), int64(-1), false)
		f.Add([]byte(s), int64(2), int64(100), true)
	}
	path := filepath.Join(f.TempDir(), "0.log")
	files := guestfile.New(guestfile.Config{})
	f.Fuzz(func(t *testing.T, data []byte, tail, limit int64, stamps bool) {
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		o := Options{Timestamps: stamps}
		if tail >= 0 {
			o.Tail = &tail
		}
		if limit > 0 {
			o.Limit = &limit
		}
		first, errFirst := copied(t, files, path, o)
		second, errSecond := copied(t, files, path, o)
		if !bytes.Equal(first, second) || (errFirst == nil) != (errSecond == nil) {
			t.Fatalf("%q, %v; and again %q, %v", first, errFirst, second, errSecond)
		}
		most := len(data)
		if stamps {
			most += (bytes.Count(data, []byte("\n")) + 1) * (len(stampFormat) + 10)
		}
		if len(first) > most || limit > 0 && int64(len(first)) > limit {
			t.Fatalf("%d bytes of %d", len(first), len(data))
		}
		if o.Tail != nil || o.Limit != nil || stamps || errFirst != nil {
			return
		}
		var want []byte
		var form format
		for e := range bytes.Lines(data) {
			if len(e) > maxDocker-len(entry) && e[0] == '{' {
				return // which entries are too long depends on the reader's buffer
			}
			// An entry that is too long to keep is parsed by its head; a last entry without an end counts too.
			if l, err := form.parse(e); err == nil && !l.at.Before(o.Since) { // of the year 0: nothing is that old
				want = append(want, l.text...)
			}
		}
		if !bytes.Equal(first, want) {
			t.Fatalf("%.300q, want %.300q", first, want)
		}
	})
}

func copied(t *testing.T, files *guestfile.Files, path string, o Options) ([]byte, error) {
	t.Helper()
	l, err := Open(t.Context(), files, path, o)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	var out bytes.Buffer
	err = l.Copy(t.Context(), nil, nil, &out, &out)
	return out.Bytes(), err
}
