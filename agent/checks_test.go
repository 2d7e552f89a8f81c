package agent

import (
	"errors"
	"testing"

	"github.com/kubeloupe/kubeloupe/agent/server"
)

// The watchdog asks all checks.
func TestHealthyAsksAllChecks(t *testing.T) {
	well := server.Check{Name: "syncloop", Check: func() error { return nil }}
	ill := server.Check{Name: "device-plugin", Check: func() error { return errors.New("not served") }}
	if err := healthy([]server.Check{well, well}); err != nil {
		t.Error(err)
	}
	if err := healthy([]server.Check{well, ill}); err == nil || err.Error() != "checker device-plugin failed: not served" {
		t.Errorf("error %v", err)
	}
}
