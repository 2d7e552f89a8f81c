package corpus_test

import (
	"bytes"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"github.com/kubeloupe/kubeloupe/inspect/cause"
	"github.com/kubeloupe/kubeloupe/inspect/export"
	"github.com/kubeloupe/kubeloupe/inspect/session"
	"github.com/kubeloupe/kubeloupe/trace/say/noise"
	"github.com/kubeloupe/kubeloupe/trace/tracetest"
)

// TestPageInNoise: the page that trace writes decides on no text. Drawn from noise, in noise, it has the same parts of the same looks, and
// the same figures; only words differ.
func TestPageInNoise(t *testing.T) {
	files, err := filepath.Glob("testdata/*/*.klr")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d recordings, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".klr"), func(t *testing.T) {
			items := read(t, file)
			noisy := make([]item, len(items))
			for i := range items {
				noisy[i] = item{rec: tracetest.Noise(items[i].rec), lost: items[i].lost}
			}
			want := pages(t, items)
			noise.On(true)
			got := pages(t, noisy)
			noise.On(false)
			if len(want) != len(got) {
				t.Fatalf("got %d pages in noise, want %d", len(got), len(want))
			}
			for i := range want {
				if diff := pageDiffers(want[i], got[i]); diff != "" {
					t.Errorf("page %d: %s", i, diff)
				}
			}
		})
	}
}

// pages are the parts of the pages of all starts.
func pages(t *testing.T, items []item) (out [][]string) {
	t.Helper()
	s := session.New(session.Options{})
	fold(s, items)
	for l, c := range s.Cases(s.Last()) {
		f, err := l.Waterfall(s.Last())
		if err != nil {
			continue // it has no start
		}
		var b bytes.Buffer
		if err := export.HTML(&b, f, cause.Find(c)); err != nil {
			t.Fatal(err)
		}
		out = append(out, partsOf(t, b.String()))
	}
	return out
}

// scale matches classes of what depends on the room that words leave: the axis, and the side of a bar on which its text is.
var scale = regexp.MustCompile(`kl-(tick|grid|before|behind)`)

// partsOf lists a page's elements, with their classes, and texts.
func partsOf(t *testing.T, page string) (out []string) {
	t.Helper()
	root, err := html.Parse(strings.NewReader(page))
	if err != nil {
		t.Fatal(err)
	}
	var walk func(*html.Node)
	walk = func(n *html.Node) {
		switch n.Type {
		case html.ElementNode:
			part := "<" + n.Data
			for _, a := range n.Attr {
				if a.Key == "class" && (strings.HasPrefix(a.Val, "kl-tick") || strings.HasPrefix(a.Val, "kl-grid")) {
					return
				}
				if a.Key == "class" {
					part += " " + strings.TrimSpace(scale.ReplaceAllString(a.Val, ""))
				}
			}
			out = append(out, part+">")
		case html.TextNode:
			if text := strings.TrimSpace(n.Data); text != "" {
				out = append(out, text)
			}
		}
		for c := n.FirstChild; c != nil; c = c.NextSibling {
			walk(c)
		}
	}
	walk(root)
	return out
}

// pageDiffers says in what a page drawn in noise is another one.
func pageDiffers(want, got []string) string {
	for i := range max(len(want), len(got)) {
		switch {
		case i >= len(want):
			return "there is in noise only: " + got[i]
		case i >= len(got):
			return "there is not in noise: " + want[i]
		}
		if !tracetest.OnlyWords(want[i], got[i]) {
			return fmt.Sprintf("part %d is %q, in noise %q", i, want[i], got[i])
		}
	}
	return ""
}
