package cpus

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/kubeloupe/kubeloupe/agent/numa"
	"github.com/kubeloupe/kubeloupe/agent/topology"
)

// The options of cpuManagerPolicyOptions.
const (
	optionFullCores  = "full-pcpus-only"
	optionDistribute = "distribute-cpus-across-numa"
	optionSocket     = "align-by-socket"
	optionSpread     = "distribute-cpus-across-cores"
	optionStrict     = "strict-cpu-reservation"
	optionUncore     = "prefer-align-cpus-by-uncorecache"
)

// options are those of the static policy.
type options struct {
	fullCores  bool // a container gets whole cores, or is refused
	distribute bool // if it needs more than one NUMA node, each gives the same number
	socket     bool // the NUMA nodes of a socket count as one
	spread     bool // each CPU from another core
	strict     bool // nobody runs on the reserved CPUs
	uncore     bool // prefers CPUs that share a last-level cache
}

// gates are the feature gates of options.
type gates struct{ alpha, beta bool }

// parse reads the options.
//
// Upstream: pkg/kubelet/cm/cpumanager/policy_options.go.
func parse(in map[string]string, g gates) (options, error) {
	var o options
	fields := map[string]*bool{
		optionFullCores: &o.fullCores, optionDistribute: &o.distribute, optionSocket: &o.socket, optionSpread: &o.spread, optionStrict: &o.strict,
		optionUncore: &o.uncore,
	}
	var errs []error
	fail := func(format string, args ...any) {
		errs = append(errs, fmt.Errorf("cpuManagerPolicyOptions: "+format, args...))
	}
	for _, name := range slices.Sorted(maps.Keys(in)) {
		field := fields[name]
		switch {
		case field == nil:
			fail("unknown option %q", name)
		case (name == optionSocket || name == optionSpread) && !g.alpha:
			fail("%s needs the feature gate CPUManagerPolicyAlphaOptions, which is off", name)
		case name == optionDistribute && !g.beta:
			fail("%s needs the feature gate CPUManagerPolicyBetaOptions, which is off", name)
		default:
			v, err := strconv.ParseBool(in[name])
			if err != nil {
				fail("%s: %q must be true or false", name, in[name])
			}
			*field = v
		}
	}
	for _, pair := range []struct {
		both bool
		a, b string
	}{
		{o.fullCores && o.spread, optionFullCores, optionSpread},
		{o.distribute && o.spread, optionDistribute, optionSpread},
		{o.uncore && o.spread, optionUncore, optionSpread},
		{o.uncore && o.distribute, optionUncore, optionDistribute},
	} {
		if pair.both {
			fail("%s and %s exclude each other", pair.a, pair.b)
		}
	}
	return o, errors.Join(errs...)
}

// fits checks that the options can work on this machine.
func (o options) fits(m numa.Machine, topologyPolicy string) error {
	if !o.socket {
		return nil
	}
	if topologyPolicy == topology.SingleNUMANode {
		return fmt.Errorf("cpuManagerPolicyOptions: %s cannot be combined with topologyManagerPolicy %s", optionSocket, topologyPolicy)
	}
	if s, n := len(details(m.CPUs).values(socket)), len(details(m.CPUs).values(node)); s > n {
		return fmt.Errorf("cpuManagerPolicyOptions: %s: this machine has more sockets (%d) than NUMA nodes (%d)", optionSocket, s, n)
	}
	return nil
}
