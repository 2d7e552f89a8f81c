package klog_test

import (
	"strings"
	"testing"

	"github.com/kubeloupe/kubeloupe/inspect/attach/klog"
	"github.com/kubeloupe/kubeloupe/trace/human"
)

// check is what holds of any entry: bounded, and nothing in it acts on a terminal.
func check(t *testing.T, e *klog.Entry, size int) {
	t.Helper()
	total := 0
	for _, s := range append(e.List("pods"), e.Msg, e.Logger, e.File) {
		total += len(s)
		if human.Visible(s) != s {
			t.Errorf("%q acts on a terminal", s)
		}
	}
	for _, f := range e.Fields {
		total += len(f.Key) + len(f.Value)
		if human.Visible(f.Value) != f.Value || human.Visible(f.Key) != f.Key {
			t.Errorf("%q=%q acts on a terminal", f.Key, f.Value)
		}
	}
	if total > 64+16*size { // a character of two bytes is written with up to twelve; a list is counted twice
		t.Errorf("%d bytes of %d", total, size)
	}
}

func FuzzText(f *testing.F) {
	const head = "I1122 08:38:19.533699   30016 kubelet.go:2760] "
	for _, s := range []string{
		"", head, head + `"SyncLoop ADD" source="file" pods=["shop/a"]`, head + "\"m\" a=<\n\tx\n > b=1", head + `"m" err="\"`, head + `"m" a={"b":[1,{"c":"}"}]}`,
		head + "free \x1b[2J text\nmore", head + `"m" "odd key"="v" =x`, head + `"m" pods=[a/b c/d`, "\xff" + head, head + `"m" a=&{X:[1 2]} b="c"`, "00:00:00.000000 1 a.go:1] x", head + `"m" pods=["\x11"]`,
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if at := klog.HeaderAt(s); at >= 0 {
			s = s[at:]
		}
		if e, ok := klog.ParseText(s, clock()); ok {
			check(t, &e, len(s))
		}
	})
}

func FuzzJSON(f *testing.F) {
	for _, s := range []string{
		"", "{", `{"ts":1700000000123.457,"caller":"k/k.go:1","msg":"m","v":2,"pods":[{"name":"a","namespace":"b"}]}`, `{"ts":1,"msg":"\u001b","err":"x"}`,
		`{"ts":1,"msg":"m","a":{"name":"\ud800","namespace":""}}`, strings.Repeat(`{"a":`, 200),
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if e, ok := klog.ParseJSON(s); ok {
			check(t, &e, len(s))
		}
	})
}
