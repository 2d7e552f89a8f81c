package volume

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"
)

func TestNoticesJoin(t *testing.T) {
	n := NewNotices()
	n.Refresh("named", "b")
	n.Refresh("named", "a", "b")
	n.Refresh("all", "a")
	n.Refresh("all")
	n.Refresh("all", "b")
	n.Retry("csi")
	n.Retry("csi")
	if diff := cmp.Diff(map[types.UID][]string{"named": {"a", "b"}, "all": nil}, n.changed); diff != "" {
		t.Errorf("volumes to refresh (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]bool{"csi": true}, n.retry); diff != "" {
		t.Errorf("plugins to retry (-want +got):\n%s", diff)
	}
	select {
	case <-n.wake:
	default:
		t.Error("the manager is not woken")
	}
}
