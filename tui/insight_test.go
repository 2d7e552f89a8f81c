package tui

import (
	"testing"
	"testing/synctest"
)

// TestStarts: the ranking sorts, filters by cause, and opens the pod.
func TestStarts(t *testing.T) { synctest.Test(t, testStarts) }

func testStarts(t *testing.T) {
	d := drive(t, Config{}, 120, 40).play().keys("r")
	d.want("▶shop/cart-7d4f-a1b", "seen to started    31  p50  417ms  p90  501ms  p99  4.24s")
	d.keys("s").want("▶jobs/flaky") // by pod
	d.keys("s s s S").want("▶jobs/flaky")
	d.keys("/ K L 0 2 enter").want("shop/cart-7d4f-a1b")
	d.wantNot("kube-system/cni-9xk")
	d.keys("esc / n s = k u b e - s y s t e m enter").want("▶kube-system/cni-9xk")
	d.keys("enter").want("▶6 Pod", "kube-system/cni-9xk")
	d.keys("esc").want("▶r Starts")
}

// TestCauseOpens: a finding opens its evidence, and Esc comes back.
func TestCauseOpens(t *testing.T) { synctest.Test(t, testCauseOpens) }

func testCauseOpens(t *testing.T) {
	d := drive(t, Config{}, 120, 40).play().keys("1 j j j enter / K L 0 2 enter enter")
	d.want("shop/cart-7d4f-a1b  KL02  slow network in a pull", "evidence", "remedy", "wrong if", "docs/causes/KL02.md")
	d.keys("esc").want("▶cause   KL02", "filter: KL02")
}

// TestLearn: the panel follows the cursor, stays open for the next pod, and gives way on a small screen.
func TestLearn(t *testing.T) { synctest.Test(t, testLearn) }

func testLearn(t *testing.T) {
	d := drive(t, Config{}, 80, 24).play().keys("1 j j j enter")
	d.wantNot("─ learn")
	d.keys("L").want("─ learn: image") // what took longest
	d.keys("/ s a n d b o x enter j").want("─ learn: sandbox", "read: KEP-3085")
	d.keys("esc ]").want("─ learn: sandbox")
	d.keys("/ n o t h i n g enter").want("─ learn: ")
	d.keys("esc")
	d.keys("1 6 ? pgdown").want("explain the selected row, for learners")
	d.keys("esc L").wantNot("─ learn")
	small := drive(t, Config{}, 60, 16).play().keys("6 L")
	within(t, small.screen(), 60, 16)
}

// TestBoardsScroll: what has no room is counted, and comes with the keys.
func TestBoardsScroll(t *testing.T) { synctest.Test(t, testBoardsScroll) }

func testBoardsScroll(t *testing.T) {
	d := drive(t, Config{}, 80, 24).shortage().keys("8")
	d.want("more lines below", "─ agent")
	d.keys("G").want("─ certificates")
	d.wantNot("more lines below", "─ agent")
	d.keys("g j").wantNot("─ agent")
	d.keys("/ p s i enter").want("PSI cpu", "42.0% some")
	d.wantNot("goroutines")
	d.keys("/ x y z z y enter").want("nothing matches the filter")
}

// TestFailingSources: a source that fails is not called a manifest.
func TestFailingSources(t *testing.T) { synctest.Test(t, testFailingSources) }

func testFailingSources(t *testing.T) {
	d := drive(t, Config{}, 120, 40).shortage().keys("1")
	d.want("sources that fail, and manifests that cannot be used", "▶api source: dial tcp")
	d.keys("enter").want("a source of pods that fails", "The pods that it delivered before stay as they are")
}
