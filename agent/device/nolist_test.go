package device

import "testing"

// A plugin whose stream ends before it has listed devices offers none: the node says 0, as upstream's. Another one may register.
func TestEndsWithoutList(t *testing.T) {
	dir := shortDir(t)
	n := newNode(t, dir).run(t)
	f := &fakePlugin{}
	f.serve(t, dir, "a.sock")
	close(f.lists) // its stream ends at once
	if err := register(t, dir, gpu, "a.sock"); err != nil {
		t.Fatal(err)
	}
	n.await(t, gpu, 0, 0)
	next := &fakePlugin{}
	next.serve(t, dir, "b.sock")
	next.lists <- healthy("g0")
	if err := register(t, dir, gpu, "b.sock"); err != nil {
		t.Fatal(err)
	}
	n.await(t, gpu, 1, 1)
}
