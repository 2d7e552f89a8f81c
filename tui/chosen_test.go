package tui

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
)

// TestChosenPodFollows: the pod that was selected in one view is selected in the next.
func TestChosenPodFollows(t *testing.T) {
	for _, c := range []struct{ keys, want string }{
		{"3 j j 6", " shop/web-00"},
		{"3 6", " jobs/flaky"},
		{"1 6", " shop/cart-7d4f-x2z"}, // none was selected: the one seen last
		{"3 j j 4 6", " shop/web-00"},  // past a view without it
		{"3 j j u 6", " shop/web-00"},
		{"3 j j u j 6", " shop/web-01"},
		{"3 G enter ] esc", "▶jobs/flaky"},
		{"3 j j r", "▶shop/web-00"},
		{"3 j j u", "▶shop/web-00"},
		{"r j j 3", "▶shop/web-27"},
		{"3 j j 6 [ 3", "▶shop/cart-7d4f-x2z"},
		{"1 j j j 6", " shop/cart-7d4f-a1b"},
	} {
		bubble(t, c.keys, func(t *testing.T) {
			drive(t, Config{}, 80, 24).play().keys(c.keys).want(c.want)
		})
	}
}

func TestPickPod(t *testing.T) { synctest.Test(t, testPickPod) }

func testPickPod(t *testing.T) {
	d := drive(t, Config{}, 80, 24).play().keys("6 P").want2("─ pod ─")
	d.want("▶jobs/flaky", "backing off")
	d.keys("j j k").want("▶kube-system/cni-9xk")
	d.keys("enter").want(" kube-system/cni-9xk   Running")
	d.keys("P").types("kube").want("▶kube-system/cni-9xk") // once something is typed, k is a letter
	d.wantNot("jobs/flaky")
	d.keys("ctrl+u").types("web-1").want("▶shop/web-10")
	d.keys("down enter").want(" shop/web-11   Running")
	d.keys("3 P").types("a1b").keys("enter").want("▶3 Pods", "▶shop/cart-7d4f-a1b") // here it is selected
	d.keys("P").types("nonesuch").want(`pod "nonesuch" not found`)
	d.keys("enter").want("not found")
	d.keys("esc").wantNot("not found")
	d.keys("7 P").types("flaky").keys("enter").want("▶6 Pod", "jobs/flaky")
	if strings.Contains(d.screen(), "▶7") {
		t.Error("the picker of the Step view does not show the pod")
	}
}

func TestGoldenPicker(t *testing.T) {
	for _, size := range sizes {
		name := fmt.Sprintf("picker-%dx%d", size[0], size[1])
		bubble(t, name, func(t *testing.T) {
			d := drive(t, Config{}, size[0], size[1]).play().keys("6 P j")
			golden(t, name, d.screen())
			within(t, d.screen(), size[0], size[1])
		})
	}
}

func TestGoldenQuestion(t *testing.T) {
	for _, size := range sizes {
		name := fmt.Sprintf("question-%dx%d", size[0], size[1])
		bubble(t, name, func(t *testing.T) {
			d := drive(t, Config{Leaving: "The agent runs in this process and stops with the UI. Its pods continue to run."}, size[0], size[1]).play().keys("q")
			golden(t, name, d.screen())
			within(t, d.screen(), size[0], size[1])
			colored(t, name, d.app.view())
		})
	}
}
