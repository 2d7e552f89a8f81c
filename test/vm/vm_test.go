package vm

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTree(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"a": "first", "sub/b": "second"} {
		if err := os.MkdirAll(filepath.Join(dir, filepath.Dir(name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o640); err != nil {
			t.Fatal(err)
		}
	}
	var out bytes.Buffer
	err := writeTree(&out, []File{
		{Path: "/opt/x", From: dir}, {Path: "/bin/sh", Link: "/bin/busybox"}, {Path: "/init", Text: "#!", Mode: 0o755},
	})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for rest := out.Bytes(); len(rest) > 0; {
		field := func(i int) int {
			n := 0
			for _, c := range rest[6+8*i : 14+8*i] {
				n = n<<4 | strings.IndexByte("0123456789abcdef", c)
			}
			return n
		}
		up := func(n int) int { return (n + 3) &^ 3 }
		mode, size, name := field(1), field(6), field(11)
		head := up(110 + name)
		entry := string(rest[110 : 110+name-1])
		text := string(rest[head : head+size])
		got = append(got, strings.TrimSpace(entry+" "+[]string{"", "", "", "", "dir", "", "", "", "file", "", "link"}[mode>>12]+" "+text))
		rest = rest[head+up(size):]
	}
	want := []string{
		"opt dir", "opt/x dir", "opt/x/a file first", "opt/x/sub dir", "opt/x/sub/b file second",
		"bin dir", "bin/sh link /bin/busybox", "init file #!", "TRAILER!!!",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestFollower(t *testing.T) {
	var out bytes.Buffer
	f := &follower{out: &out}
	for _, s := range []string{"vm: ", "up\r\nhel", "lo\nvm: ended with 3\nrest"} {
		if _, err := f.Write([]byte(s)); err != nil {
			t.Fatal(err)
		}
	}
	f.flush()
	if !f.up || f.end != "3" || out.String() != "hello\nrest\n" {
		t.Errorf("up %v, ended with %q, said %q", f.up, f.end, out.String())
	}
}
