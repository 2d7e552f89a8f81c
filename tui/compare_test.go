package tui

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/kubeloupe/kubeloupe/inspect/model"
	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/tui/views"
)

// TestCompare: t offers the other starts, searched by typing, and shows the chosen one beside the selected pod's.
func TestCompare(t *testing.T) { synctest.Test(t, testCompare) }

func testCompare(t *testing.T) {
	d := drive(t, Config{}, 120, 40).play().keys("1 j j j t")
	d.want("─ compare with", "the median")
	d.keys("w e b - 0 3 enter").want("compare  A shop/web-03  B shop/cart-7d4f-a1b", "seen to started", "╮╭─ shop/cart-7d4f-a1b")
	d.keys("esc t esc").wantNot("compare with", "compare  A")
	d.keys("3 t esc 6 t").want("─ compare with")
	d.keys("esc r t").want("─ compare with")
	empty := drive(t, Config{}, 80, 24).keys("3 t")
	empty.want("no pod is selected")
}

// TestStartsBeside: starts of the same name come first, then those of the same owner, and a start is not compared with itself.
func TestStartsBeside(t *testing.T) {
	of := func(name, uid string, took int) model.Start {
		return model.Start{Pod: trace.Pod{Namespace: "shop", Name: name, UID: uid}, ToStarted: time.Duration(took) * time.Second, Started: time.Unix(int64(took), 0)}
	}
	all := []model.Start{of("cart-7d-a", "2", 5), of("db-0", "3", 9), of("cart-7d-b", "4", 4), of("cart-7d-a", "1", 3), of("late", "5", 0)}
	others, usual := views.StartsBeside(all, all[0].Pod)
	var got []string
	for _, s := range others {
		got = append(got, s.Pod.Name+s.Pod.UID)
	}
	if want := []string{"cart-7d-a1", "cart-7d-b4", "db-03"}; len(got) != len(want) || got[0] != want[0] || got[1] != want[1] || got[2] != want[2] {
		t.Errorf("got %v, want %v", got, want)
	}
	if usual.UID != "4" {
		t.Errorf("the median start is that of %v", usual)
	}
}
