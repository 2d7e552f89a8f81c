package main

import (
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"charm.land/bubbles/v2/key"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/kubeloupe/kubeloupe/tui"
	keymap "github.com/kubeloupe/kubeloupe/tui/keys"
)

// The repository, as seen from this package.
var repo = filepath.Join("..", "..")

// pageOf is where a command is described.
func pageOf(command string) string {
	switch command {
	case "events": // events.md is generated from the types
		command = "events-command"
	case "man", "version":
		command = "README"
	}
	return command + ".md"
}

// readDoc returns a file of the repository.
func readDoc(t *testing.T, path ...string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(append([]string{repo}, path...)...))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// Every command has a page, which README and the index lead to, and the page has the command's own flags.
func TestDocsHaveCommands(t *testing.T) {
	readme, index := readDoc(t, "README.md"), readDoc(t, "docs", "README.md")
	root := newRoot(streams{in: strings.NewReader(""), out: io.Discard, err: io.Discard})
	kubelets := flagNames(command(t, root, "run"))
	for _, c := range root.Commands() {
		if c.Hidden || c.Name() == "help" || c.Name() == "completion" {
			continue
		}
		page := pageOf(c.Name())
		if !strings.Contains(readme, "(docs/"+page+")") {
			t.Errorf("README.md has no link to docs/%s, for %s", page, c.Name())
		}
		if !strings.Contains(index, "`kubeloupe "+c.Name()+"`") || page != "README.md" && !strings.Contains(index, "("+page+")") {
			t.Errorf("docs/README.md does not lead from %s to %s", c.Name(), page)
		}
		text := readDoc(t, "docs", page)
		for _, f := range flagNames(c) {
			if (c.Name() == "run" || c.Name() == "step") && slices.Contains(kubelets, f) {
				continue // those are the kubelet's, and ours that both have: run.md and spans.md
			}
			short := c.Flags().Lookup(f).Shorthand
			if !strings.Contains(text, "--"+f) && (short == "" || !regexp.MustCompile("-"+short+"\\b").MatchString(text)) {
				t.Errorf("docs/%s does not have --%s of %s", page, f, c.Name())
			}
		}
	}
}

// Flags of run that are not the kubelet's are in run.md or a page that it leads to.
func TestDocsHaveOwnFlags(t *testing.T) {
	var all strings.Builder
	for _, page := range []string{"run.md", "spans.md", "record.md", "control.md"} {
		all.WriteString(readDoc(t, "docs", page))
	}
	for _, f := range []string{
		"runtime", "output", "no-tui", "view", "event-buffer", "runtime-slots", "control-socket", "record", "record-max-size",
		"record-no-bodies", "otlp-grpc", "otlp-http", "cni-bin-dir", "once",
	} {
		if name := "--" + f; !strings.Contains(all.String(), name) && (f != "output" || !strings.Contains(all.String(), "`-o")) {
			t.Errorf("no page has %s of run", name)
		}
	}
}

// docs/tui.md has the keys as they are, and every view with its picture.
func TestDocsHaveKeys(t *testing.T) {
	text := readDoc(t, "docs", "tui.md")
	m := keymap.New()
	all := slices.Concat(m.Moving(), m.Global(), m.Replay.All(), m.Typing.All(), []key.Binding{m.Enter, m.Sort, m.Reverse, m.Follow})
	for _, b := range all {
		if len(b.Keys()) == 0 {
			continue // those that go to a view: see below
		}
		if row := "| `" + b.Help().Key + "` | " + b.Help().Desc + " |"; !strings.Contains(text, row) {
			t.Errorf("docs/tui.md has no row %s", row)
		}
	}
	for _, view := range tui.ViewNames() {
		if !strings.Contains(text, "`"+view+"`") || !strings.Contains(text, "(img/"+view+".svg)") {
			t.Errorf("docs/tui.md does not show the view %s", view)
		}
	}
}

// linkInDocs is a link of Markdown: [text](target), or an image.
var linkInDocs = regexp.MustCompile(`\]\(([^)\s]+)\)`)

// Links lead to files and headings that exist.
func TestDocsLinks(t *testing.T) {
	pages, err := filepath.Glob(filepath.Join(repo, "docs", "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	causes, err := filepath.Glob(filepath.Join(repo, "docs", "causes", "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	pages = slices.Concat(pages, causes, []string{filepath.Join(repo, "README.md")})
	if len(pages) < 20 {
		t.Fatalf("only %d pages found", len(pages))
	}
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range linkInDocs.FindAllStringSubmatch(string(text), -1) {
			if strings.Contains(found[1], "://") {
				continue
			}
			path, heading, _ := strings.Cut(found[1], "#")
			target := page
			if path != "" {
				target = filepath.Join(filepath.Dir(page), path)
			}
			there, err := os.ReadFile(target)
			if info, e := os.Stat(target); e == nil && info.IsDir() {
				continue
			}
			if err != nil {
				t.Errorf("%s: %s leads nowhere: %v", page, found[1], err)
			} else if heading != "" && !slices.Contains(headings(string(there)), heading) {
				t.Errorf("%s: %s: there is no such heading", page, found[1])
			}
		}
	}
}

// headings are a page's headings as links name them.
func headings(text string) (out []string) {
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, "#") {
			continue
		}
		slug := strings.Map(func(r rune) rune {
			switch {
			case r == ' ':
				return '-'
			case r == '-' || r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r > 0x7f:
				return r
			}
			return -1
		}, strings.ToLower(strings.TrimSpace(strings.TrimLeft(line, "#"))))
		out = append(out, slug)
	}
	return out
}

func command(t *testing.T, root *cobra.Command, name string) *cobra.Command {
	t.Helper()
	c, _, err := root.Find([]string{name})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// flagNames are a command's flags that help shows.
func flagNames(c *cobra.Command) (names []string) {
	c.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden && f.Name != "help" {
			names = append(names, f.Name)
		}
	})
	return names
}
