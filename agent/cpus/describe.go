package cpus

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/kubeloupe/kubeloupe/trace"
)

// Describe adds the policy, its options, and the CPUs that are reserved and shared.
func (m *Manager) Describe(to *trace.ResourcesDescribed) {
	m.mu.Lock()
	defer m.mu.Unlock()
	to.CPUPolicy = m.cfg.Policy
	var on []string
	for _, name := range slices.Sorted(maps.Keys(m.cfg.Options)) {
		if set, _ := strconv.ParseBool(m.cfg.Options[name]); set {
			on = append(on, name)
		}
	}
	to.Options = strings.Join(on, ",")
	if m.static != nil {
		to.Reserved, to.Pool = m.static.reserved.String(), m.content.Default.String()
	}
}
