package table

import (
	"cmp"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/kubeloupe/kubeloupe/inspect/query"
	"github.com/kubeloupe/kubeloupe/tui/style"
)

type row struct {
	id string
	n  int
}

func text(f func(row) string) func(row) Cell { return func(r row) Cell { return Cell{Text: f(r)} } }

func newTable(tail bool) *Table[row] {
	t := New(Config[row]{
		Theme: style.New(true), Tail: tail, Empty: "no rows yet",
		ID: func(r row) string { return r.id }, Text: func(r row) string { return r.id },
		Columns: []Column[row]{
			{Title: "id", Width: 4, Flex: 1, Cell: text(func(r row) string { return r.id }), Compare: func(a, b row) int { return cmp.Compare(a.id, b.id) }},
			{Title: "n", Width: 4, Right: true, Desc: true, Cell: text(func(r row) string { return fmt.Sprint(r.n) }), Compare: func(a, b row) int { return cmp.Compare(a.n, b.n) }},
			{Title: "extra", Width: 10, Drop: 1, Cell: text(func(row) string { return "x" })},
		},
	})
	t.SetSize(12, 4)
	return t
}

func rows(ids ...string) []row {
	var out []row
	for i, id := range ids {
		out = append(out, row{id, i})
	}
	return out
}

func plain(s string) string {
	return regexp.MustCompile(`\x1b\[[0-9;]*m`).ReplaceAllString(s, "")
}

func selected(t *Table[row]) string {
	r, ok := t.Selected()
	if !ok {
		return ""
	}
	return r.id
}

func TestView(t *testing.T) {
	tbl := newTable(false)
	if got := plain(tbl.View()); got != " ID        N\n no rows yet" {
		t.Errorf("empty table:\n%s", got)
	}
	tbl.SetRows(rows("a", "b", "c", "d"))
	if got, want := plain(tbl.View()), " ID        N\n>a         0\n b         1\n c         2"; got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	tbl.SetSize(30, 3)
	if got, want := plain(tbl.View()), " ID               N EXTRA     \n>a                0 x         \n b                1 x         "; got != want {
		t.Errorf("wide: got\n%s\nwant\n%s", got, want)
	}
	tbl.SetSize(0, 0)
	if got := tbl.View(); got != "" {
		t.Errorf("no room: %q", got)
	}
}

func TestCursorStaysWithItsRow(t *testing.T) {
	tbl := newTable(false)
	tbl.SetRows(rows("c", "b", "a"))
	tbl.Move(1)
	for _, ids := range [][]string{{"d", "c", "b", "a"}, {"z", "y", "x", "d", "c", "b"}, {"b"}, {"b", "a"}} {
		tbl.SetRows(rows(ids...))
		if selected(tbl) != "b" {
			t.Errorf("rows %v: the cursor is on %q, want b", ids, selected(tbl))
		}
		if !strings.Contains(plain(tbl.View()), ">b") {
			t.Errorf("rows %v: the row is out of sight:\n%s", ids, plain(tbl.View()))
		}
	}
	tbl.SetRows(rows("q", "r", "s"))
	if selected(tbl) == "" {
		t.Error("its row is gone, and the cursor with it")
	}
	tbl.SetRows(nil)
	if selected(tbl) != "" {
		t.Error("a cursor without rows")
	}
}

func TestFollowing(t *testing.T) {
	head, tail := newTable(false), newTable(true)
	for _, tbl := range []*Table[row]{head, tail} {
		tbl.SetRows(rows("b", "c", "d", "e", "f"))
	}
	if selected(head) != "b" || selected(tail) != "f" {
		t.Fatalf("start: %q and %q", selected(head), selected(tail))
	}
	head.SetRows(rows("a", "b", "c"))
	tail.SetRows(rows("f", "g"))
	if selected(head) != "a" || selected(tail) != "g" {
		t.Errorf("they do not follow: %q and %q", selected(head), selected(tail))
	}
	tail.Home()
	if tail.Following() {
		t.Error("follows although the cursor left the end")
	}
	tail.SetRows(rows("f", "g", "h"))
	if selected(tail) != "f" {
		t.Errorf("moved on to %q", selected(tail))
	}
	tail.End()
	if !tail.Following() {
		t.Error("does not follow at the end")
	}
}

func TestSortAndFilter(t *testing.T) {
	tbl := newTable(false)
	tbl.SetRows(rows("b", "a", "c"))
	for _, want := range []string{"id a b c", "n c a b", " b a c", "id a b c"} {
		got := tbl.Sort()
		for _, r := range tbl.shown {
			got += " " + r.id
		}
		if got != want {
			t.Errorf("sorted: %q, want %q", got, want)
		}
	}
	tbl.SetFilter(parse(t, "/[bc]/"))
	if shown, all := tbl.Len(); shown != 2 || all != 3 {
		t.Errorf("%d of %d rows", shown, all)
	}
	tbl.SetFilter(parse(t, "z"))
	if !strings.Contains(plain(tbl.View()), "nothing ma") {
		t.Errorf("nothing matches:\n%s", plain(tbl.View()))
	}
}

func TestMoving(t *testing.T) {
	tbl := newTable(false)
	var ids []string
	for i := range 20 {
		ids = append(ids, fmt.Sprintf("r%02d", i))
	}
	tbl.SetRows(rows(ids...))
	for _, c := range []struct {
		do   func()
		want string
	}{
		{func() { tbl.Move(2) }, "r02"},
		{func() { tbl.Move(-9) }, "r00"},
		{func() { tbl.Page(1) }, "r02"},
		{tbl.End, "r19"},
		{func() { tbl.Page(-1) }, "r17"},
		{tbl.Home, "r00"},
		{func() { tbl.Select("r07") }, "r07"},
		{func() { tbl.Move(99) }, "r19"},
	} {
		c.do()
		if selected(tbl) != c.want || !strings.Contains(plain(tbl.View()), ">"+c.want) {
			t.Errorf("on %s, want %s in sight:\n%s", selected(tbl), c.want, plain(tbl.View()))
		}
	}
	tbl.Home()
	tbl.View()
	if tbl.Click(2) || selected(tbl) != "r01" {
		t.Errorf("first click: on %s", selected(tbl))
	}
	if !tbl.Click(2) {
		t.Error("second click does not open")
	}
	if tbl.Click(0) || tbl.Click(99) || tbl.Select("nobody") {
		t.Error("clicks beside the rows count")
	}
}

func parse(t *testing.T, text string) *query.Filter {
	t.Helper()
	f, err := query.Parse(text, newTable(false).Fields())
	if err != nil {
		t.Fatal(err)
	}
	return f
}
