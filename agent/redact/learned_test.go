package redact

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The kept part of a value has the same spellings as the whole value.
func TestUsed(t *testing.T) {
	lines := func(n, size int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, "%0*d\n", size, i)
		}
		return b.String()
	}
	for name, c := range map[string]struct {
		value string
		most  int // bytes kept
	}{
		"short":            {"hunter2hunter2", 14},
		"one long line":    {lines(1, 1<<20), maxValue + 1},
		"two long lines":   {lines(2, 1<<20), 2*maxValue + 2},
		"a certificate":    {lines(1000, 64), maxLines * 65},
		"after space":      {strings.Repeat(" \n", 3000) + lines(300, 64), maxLines*65 + maxValue},
		"among short ones": {lines(1000, 3) + strings.Repeat("\n", 1<<20) + lines(300, 64), maxLines*65 + maxValue},
	} {
		got := used(c.value)
		if diff := cmp.Diff(spellings(c.value), spellings(got)); diff != "" {
			t.Errorf("%s (-whole +used):\n%.2000s", name, diff)
		}
		if len(got) > c.most {
			t.Errorf("%s: %d bytes are kept, want at most %d", name, len(got), c.most)
		}
	}
}

// The order of a Secret's values does not matter: another order is no change, and does not remove the previous values.
func TestOrder(t *testing.T) {
	v := NewVault()
	v.Learn("p", "secret", "first-value")
	for _, values := range [][]string{{"aaaaaaaa", "bbbbbbbb"}, {"bbbbbbbb", "aaaaaaaa"}} {
		v.Learn("p", "secret", values...)
	}
	if got := v.Text("p", "first-value aaaaaaaa bbbbbbbb"); got != "[redacted] [redacted] [redacted]" {
		t.Errorf("shown: %s", got)
	}
}

// TestLargeValuesAreNotKept: environments of 8 MiB of each container, learned repeatedly.
func TestLargeValuesAreNotKept(t *testing.T) {
	v := NewVault()
	before := live()
	for i := range 20 {
		for container := range 4 {
			var values []string
			for k := range 64 {
				values = append(values, strings.Repeat(fmt.Sprintf("%d/%d/%d ", i, container, k), 16<<10))
			}
			v.Learn("p", Environment(fmt.Sprint(container)), values...)
		}
	}
	if got := v.Text("p", "0/0/0 0/0/0"); got == "0/0/0 0/0/0" {
		t.Error("shown: ", got)
	}
	if grown := live() - before; grown > 8<<20 {
		t.Errorf("%d MiB are kept", grown>>20)
	}
	runtime.KeepAlive(v)
}

func live() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
