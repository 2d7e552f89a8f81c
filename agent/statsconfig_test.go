package agent

import (
	"reflect"
	"testing"

	"github.com/kubeloupe/kubeloupe/agent/cgroup"
	"github.com/kubeloupe/kubeloupe/agent/cri"
	"github.com/kubeloupe/kubeloupe/agent/pleg"
	"github.com/kubeloupe/kubeloupe/agent/pods"
)

// The agent gives its statistics everything that they can measure: what is missing is silently not measured.
func TestStatsConfigIsComplete(t *testing.T) {
	p := partsOn(t)
	p.client, p.pleg, p.cgroups = &cri.Client{}, &pleg.PLEG{}, &cgroup.Manager{}
	p.pods.store = &pods.Store{}
	c := reflect.ValueOf(p.statsConfig())
	funcs := 0
	for i := range c.NumField() {
		if f := c.Field(i); f.Kind() == reflect.Func {
			if funcs++; f.IsNil() {
				t.Errorf("%s is nil", c.Type().Field(i).Name)
			}
		}
	}
	if funcs < 5 || c.FieldByName("VolumePeriod").Int() == 0 {
		t.Errorf("%d functions, %+v", funcs, c)
	}
}

// The machine's metrics have the machine's CPUs: the agent may be limited to some of them.
func TestDescribedMachine(t *testing.T) {
	if got := partsOn(t).describedMachine(); got.CPUs != 4 {
		t.Errorf("%+v, want 4 CPUs", got)
	}
}
