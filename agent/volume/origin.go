package volume

import (
	"github.com/kubeloupe/kubeloupe/agent/volume/migrate"
	"github.com/kubeloupe/kubeloupe/trace"
)

// origin says where a volume is from, as far as records and metrics tell it.
type origin struct {
	driver   string // of CSI
	migrated bool   // the volume's type is one that the driver has now
}

func originOf(s Spec) origin {
	switch {
	case s.PV != nil && s.PV.Spec.CSI != nil:
		return origin{s.PV.Spec.CSI.Driver, migrate.Is(s.PV)}
	case s.Volume != nil && s.Volume.CSI != nil:
		return origin{driver: s.Volume.CSI.Driver}
	}
	return origin{}
}

// event returns the record of an operation on a volume.
func (j job) event(dir string) trace.Volume {
	return trace.Volume{
		Op: j.verb.op(), Name: j.key.name, Plugin: j.key.plugin, Driver: j.from.driver, Migrated: j.from.migrated, Block: j.key.block, Path: dir,
	}
}

// counted is the plugin's name in metrics.
//
// Upstream: pkg/volume/util/metrics.go, GetFullQualifiedPluginNameForVolume.
func (o origin) counted(plugin string) string {
	if o.driver == "" {
		return plugin
	}
	return plugin + ":" + o.driver
}
