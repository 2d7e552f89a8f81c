package table

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestLayout(t *testing.T) {
	cols := []look{
		{title: "pod", width: 10, flex: 1},
		{title: "took", width: 6, drop: 2},
		{title: "more", width: 8, drop: 1},
		{title: "text", width: 10, flex: 3},
	}
	for _, c := range []struct {
		name    string
		w, keep int
		wants   []int
		want    []int
	}{
		{"all that is needed", 38, -1, []int{0, 0, 0, 0}, []int{10, 6, 8, 10}},
		{"the highest goes first", 37, -1, []int{0, 0, 0, 0}, []int{10, 0, 8, 16}},
		{"what is sorted by stays", 37, 1, []int{0, 0, 0, 0}, []int{10, 6, 0, 18}},
		{"no room at all", 5, -1, []int{0, 0, 0, 0}, []int{10, 0, 0, 10}},
		{"what is wanted, the rest to the last", 60, -1, []int{13, 0, 0, 12}, []int{13, 6, 8, 29}},
		{"in proportion", 46, -1, []int{90, 0, 0, 90}, []int{12, 6, 8, 16}},
		{"one is content", 60, -1, []int{12, 0, 0, 90}, []int{12, 6, 8, 30}},
	} {
		got := layout(cols, c.w, c.keep, c.wants)
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
	cols[0].whole = 20
	for want, wants := range map[[4]int]int{{15, 0, 8, 13}: 15, {27, 0, 0, 10}: 90, {10, 6, 8, 11}: 5} {
		if got := [4]int(layout(cols, 39, -1, []int{wants, 0, 0, 0})); got != want {
			t.Errorf("names of %d columns: %v, want %v", wants, got, want)
		}
	}
}

// TestWidthsDoNotJump: a column does not shrink when the rows that needed it are gone.
func TestWidthsDoNotJump(t *testing.T) {
	cols := newTable(false).cfg.Columns
	cols[2].Flex, cols[2].Drop = 1, 0
	tbl := New(Config[row]{Theme: newTable(false).cfg.Theme, Columns: cols, ID: func(r row) string { return r.id }, Text: func(r row) string { return r.id }})
	tbl.SetSize(40, 5)
	at := func(ids ...string) int {
		tbl.SetRows(rows(ids...))
		tbl.View()
		return layout(tbl.looks, 40, -1, tbl.wants)[0]
	}
	if at("aaaaaaaaaa") != 10 || at("b") != 10 || at("cccccccccccc") != 12 {
		t.Errorf("widths %v", tbl.wants)
	}
	tbl.SetSize(60, 5)
	tbl.View()
	if tbl.wants[0] != 12 {
		t.Errorf("after a resize %v", tbl.wants)
	}
}
