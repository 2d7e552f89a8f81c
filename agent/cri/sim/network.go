package sim

import (
	"cmp"
	"fmt"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// BreakNetwork takes a CNI plugin, bridge unless it is named, off the simulated node, with what containerd says then: NetworkReady is
// false, and sandboxes with a network of their own fail. Those that run keep theirs. Called again, it names another plugin.
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

// networkErr is why a sandbox gets no network, nil when it does. Called with mu.
func (s *Server) networkErr() error {
	if s.noPlugin == "" {
		return nil
	}
	return fmt.Errorf("failed to find plugin %q in path [/opt/cni/bin]", s.noPlugin)
}
