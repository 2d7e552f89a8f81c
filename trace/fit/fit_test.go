package fit_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kubeloupe/kubeloupe/trace/fit"
)

func TestCut(t *testing.T) {
	for _, c := range []struct {
		s, mark           string
		w                 int
		cut, mid, lt, rgt string
	}{
		{"web-0", "…", 5, "web-0", "web-0", "web-0", "web-0"},
		{"web-0", "…", 7, "web-0", "web-0", "web-0  ", "  web-0"},
		{"web-0", "…", 4, "web…", "web…", "web-0", "web-0"},
		{"web-7f9c4d-x2k4p", "…", 9, "web-7f9c…", "web-…2k4p", "web-7f9c4d-x2k4p", "web-7f9c4d-x2k4p"},
		{"web-7f9c4d-x2k4p", "~", 9, "web-7f9c~", "web-~2k4p", "web-7f9c4d-x2k4p", "web-7f9c4d-x2k4p"},
		{"pull took 4s", "…", 6, "pull …", "pull …", "pull took 4s", "pull took 4s"},
		{"日本語", "…", 5, "日本…", "日本…", "日本語", "日本語"},
		{"日本語", "…", 4, "日…", "日…", "日本語", "日本語"},
		{"日本語", "…", 8, "日本語", "日本語", "日本語  ", "  日本語"},
		{"é", "…", 1, "é", "é", "é", "é"},
		{"\x1b[1mbold\x1b[0m", "", 4, "\x1b[1mbold\x1b[0m", "\x1b[1mbold\x1b[0m", "\x1b[1mbold\x1b[0m", "\x1b[1mbold\x1b[0m"},
		{"web", "…", 1, "…", "…", "web", "web"},
		{"web", "…", 0, "", "", "web", "web"},
		{"web", "…", -1, "", "", "web", "web"},
	} {
		got := []string{fit.Cut(c.s, c.w, c.mark), fit.Middle(c.s, c.w, c.mark), fit.Left(c.s, c.w), fit.Right(c.s, c.w)}
		if diff := cmp.Diff([]string{c.cut, c.mid, c.lt, c.rgt}, got); diff != "" {
			t.Errorf("%q in %d columns, Cut, Middle, Left, Right (-want +got):\n%s", c.s, c.w, diff)
		}
		if n := fit.Width(got[0]); n > max(c.w, 0) {
			t.Errorf("Cut(%q, %d) = %q has %d columns", c.s, c.w, got[0], n)
		}
	}
}

func TestWrap(t *testing.T) {
	for _, c := range []struct {
		s    string
		w    int
		want []string
	}{
		{"", 10, []string{""}},
		{"  pull   took\n4s ", 9, []string{"pull took", "4s"}},
		{"a bcdefghij k", 4, []string{"a", "bcde", "fghi", "j k"}},
		{"日本語 x", 4, []string{"日本", "語 x"}},
		{"日", 1, []string{"日"}},
		{"ab c", 0, []string{"ab", "c"}},
	} {
		if diff := cmp.Diff(c.want, fit.Wrap(c.s, c.w)); diff != "" {
			t.Errorf("Wrap(%q, %d) (-want +got):\n%s", c.s, c.w, diff)
		}
	}
	if diff := cmp.Diff([]string{"why: the pull", "     took 4s"}, fit.Paragraph("why: ", "the pull took 4s", 14)); diff != "" {
		t.Errorf("Paragraph (-want +got):\n%s", diff)
	}
}
