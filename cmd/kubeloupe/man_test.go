package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// TestManPages has a man page of each command, with its example and each of its flags.
func TestManPages(t *testing.T) {
	for _, name := range []string{nameOwn, namePlugin} {
		dir := filepath.Join(t.TempDir(), "man1")
		var out, errs bytes.Buffer
		if code := executeAs(name, []string{"man", dir}, strings.NewReader(""), &out, &errs); code != exitOK || out.Len()+errs.Len() > 0 {
			t.Fatalf("exit status %d: %s%s", code, &out, &errs)
		}
		root := newRoot(streams{out: &out, err: &errs})
		callCommands(root, name)
		pages := manPages(t, root, dir)
		files, err := os.ReadDir(dir)
		if err != nil || len(files) != pages {
			t.Errorf("%s: %d commands, but %d pages (%v)", name, pages, len(files), err)
		}
	}
}

// manPages checks the page of a command and of those below it, and counts them.
func manPages(t *testing.T, c *cobra.Command, dir string) (pages int) {
	t.Helper()
	file := strings.ReplaceAll(c.CommandPath(), " ", "-") + ".1"
	page, err := os.ReadFile(filepath.Join(dir, file))
	if err != nil {
		t.Errorf("%s: %v", c.CommandPath(), err)
		return 0
	}
	text := strings.NewReplacer(`\-`, "-", `\&`, "", `\fB`, "", `\fP`, "", `\(dq`, `"`, `\e`, `\`).Replace(string(page))
	generated := c.Name() == "completion" || c.Parent() != nil && c.Parent().Name() == "completion" // cobra's own
	if !generated && (c.Example == "" || !strings.Contains(text, ".SH EXAMPLE")) {
		t.Errorf("%s has no example", file)
	}
	first, _, _ := strings.Cut(strings.TrimSpace(c.Example), "\n")
	if !strings.Contains(text, strings.Join(strings.Fields(first), " ")) && !strings.Contains(text, first) {
		t.Errorf("%s: the example %q is not in it", file, first)
	}
	if !strings.Contains(text, ".TH \"") {
		t.Errorf("%s has no title", file)
	}
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() {
			pages += manPages(t, sub, dir)
		}
	}
	return pages + 1
}

// TestManPageOfWhy reads one page: what markdown would change is as it was, and lists are not run together.
func TestManPageOfWhy(t *testing.T) {
	dir := t.TempDir()
	if code := execute([]string{"man", dir}, strings.NewReader(""), &bytes.Buffer{}, &bytes.Buffer{}); code != exitOK {
		t.Fatal(code)
	}
	page, err := os.ReadFile(filepath.Join(dir, "kubeloupe-why.1"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"[NAMESPACE/]POD", "\n  KL05 ", "\n  start>2s ", "--selector"} {
		if !strings.Contains(strings.ReplaceAll(string(page), `\-`, "-"), want) {
			t.Errorf("no %q in\n%s", want, page)
		}
	}
}

func TestRoff(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{".so /etc/passwd", `\&.so /etc/passwd`},
		{"a\n.b\n'c", "a\n\\&.b\n\\&'c"},
		{"'quoted' -n \"x\" C:\\d", `\&'quoted' \-n \(dqx\(dq C:\ed`},
	} {
		if got := roff(c.text); got != c.want {
			t.Errorf("%q: %q, want %q", c.text, got, c.want)
		}
	}
}
