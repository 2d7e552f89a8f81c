package sim

import (
	"cmp"
	"fmt"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// BreakNetwork removes a CNI plugin (default: bridge) from the simulated node, with containerd's errors: NetworkReady
// is false, and new sandboxes with their own network fail. Running sandboxes keep their network. A further call removes
// another plugin instead.
func (s *Server) BreakNetwork(plugin string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.noPlugin = cmp.Or(plugin, "bridge")
	s.setCondition(runtimeapi.NetworkReady, false, "NetworkPluginNotReady", "Network plugin returns error: "+s.networkErr().Error())
}

// MendNetwork undoes BreakNetwork.
func (s *Server) MendNetwork() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.noPlugin = ""
	s.setCondition(runtimeapi.NetworkReady, true, "", "")
}

// networkErr returns why a sandbox gets no network, nil if it does. Called with mu.
func (s *Server) networkErr() error {
	if s.noPlugin == "" {
		return nil
	}
	return fmt.Errorf("failed to find plugin %q in path [/opt/cni/bin]", s.noPlugin)
}
