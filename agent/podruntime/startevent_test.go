package podruntime

import (
	"context"
	"errors"
	"testing"
)

// The Event of a failed start has the container's name in place of its ID; the status has what the runtime said.
func TestEventOfAFailedStart(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, w *world) {
		w.show(seen("sandbox:0"))
		w.on("start web", func(context.Context) error { return errors.New("task web-0: no such command in web-0") })
		if _, err := w.rt.Sync(t.Context(), always("web"), 1, nil); err == nil {
			t.Error("no error")
		}
		equal(t, "reason", "start container web: task web-0: no such command in web-0", w.rt.Reasons("uid")["web"].Message)
		equal(t, "events", []string{"Error: task web: no such command in web"}, warned(w, "Failed"))
	})
	if got := withoutID("no ID", "", "web"); got != "no ID" {
		t.Errorf("without an ID: %q", got)
	}
}
