package volume

import (
	"context"
	"slices"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeloupe/kubeloupe/agent/criconfig"
)

func TestMountOptions(t *testing.T) {
	for _, c := range []struct {
		name       string
		field      []string
		annotation string
		more, want []string
	}{
		{name: "none"},
		{name: "the plugin's", more: []string{"ro", "bind"}, want: []string{"bind", "ro"}},
		{name: "the field", field: []string{"nfsvers=4", "hard"}, more: []string{"ro"}, want: []string{"hard", "nfsvers=4", "ro"}},
		{name: "each once", field: []string{"ro", "hard", "hard"}, more: []string{"ro"}, want: []string{"hard", "ro"}},
		{name: "the annotation", annotation: "nolock,,hard", more: []string{"ro"}, want: []string{"hard", "nolock", "ro"}},
		{name: "both", annotation: "nolock", field: []string{"hard"}, want: []string{"nolock"}},
	} {
		pv := testPV()
		pv.Spec.MountOptions = c.field
		if c.annotation != "" {
			pv.Annotations = map[string]string{v1.MountOptionAnnotation: c.annotation}
		}
		more := slices.Clone(c.more)
		if got := MountOptions(Spec{PV: pv}, more...); !slices.Equal(got, c.want) || !slices.Equal(more, c.more) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
	if got := MountOptions(Spec{}, "ro"); !slices.Equal(got, []string{"ro"}) {
		t.Errorf("no persistent volume: %q", got)
	}
}

type fixedPlugin struct{ attachPlugin }

func (*fixedPlugin) NoMountOptions() {}

func (*fixedPlugin) SetUpBlock(context.Context, Spec) (v criconfig.Volume, err error) { return v, nil }
func (*fixedPlugin) TearDownBlock(context.Context, Place) error                       { return nil }

// A volume whose options the plugin would ignore is not mounted.
func TestMountOptionsThatHaveNoEffect(t *testing.T) {
	const want = "MountVolume.MountOptionSupport check failed: mount options are not supported for this volume type"
	for _, c := range []struct {
		name    string
		plugin  Plugin
		options []string
		block   bool
		want    string
	}{
		{name: "options", plugin: &fixedPlugin{}, options: []string{"ro"}, want: want},
		{name: "no options", plugin: &fixedPlugin{}},
		{name: "a plugin with options", plugin: &attachPlugin{}, options: []string{"ro"}},
		{name: "a device", plugin: &fixedPlugin{}, options: []string{"ro"}, block: true},
	} {
		pv := testPV()
		pv.Spec.MountOptions = c.options
		k := key{uid: types.UID("u"), plugin: "p", name: "pv", block: c.block}
		m := &Manager{states: map[key]*state{k: {}}}
		got := ""
		if err := m.allowed(job{op: op{key: k}, want: &wanted{spec: Spec{PV: pv, Block: c.block}, plugin: c.plugin}}); err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}
