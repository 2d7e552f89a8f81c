package topology

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
)

// The options of topologyManagerPolicyOptions.
const (
	optionClosest = "prefer-closest-numa-nodes"
	optionMax     = "max-allowable-numa-nodes"
)

// defaultMaxNodes is the number of NUMA nodes above which the sets of nodes are too many. It is also the least value of the option.
//
// Upstream: pkg/kubelet/cm/topologymanager/topology_manager.go.
const defaultMaxNodes = 8

type options struct {
	closest  bool
	maxNodes int
}

// parse reads the options.
//
// Upstream: pkg/kubelet/cm/topologymanager/policy_options.go.
func parse(in map[string]string) (options, error) {
	out := options{maxNodes: defaultMaxNodes}
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(in)) {
		text, err := in[name], error(nil)
		switch name {
		case optionClosest:
			if out.closest, err = strconv.ParseBool(text); err != nil {
				err = fmt.Errorf("topologyManagerPolicyOptions: %s: %q must be true or false", name, text)
			}
		case optionMax:
			if out.maxNodes, err = strconv.Atoi(text); err != nil || out.maxNodes < defaultMaxNodes {
				err = fmt.Errorf("topologyManagerPolicyOptions: %s: %q must be a number of at least %d", name, text, defaultMaxNodes)
			}
		default:
			err = fmt.Errorf("topologyManagerPolicyOptions: unknown option %q: must be %s or %s", name, optionClosest, optionMax)
		}
		errs = append(errs, err)
	}
	return out, errors.Join(errs...)
}
