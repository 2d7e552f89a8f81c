package config

import (
	"maps"
	"os"
	"reflect"
	"strings"
	"time"

	"github.com/spf13/pflag"
	kubeletv1beta1 "k8s.io/kubelet/config/v1beta1"
)

// DefaultRootDir is the default directory of the agent's state, the same as the kubelet's; --root-dir overrides it.
const DefaultRootDir = "/var/lib/kubelet"

// Flags are the flags of the command line. AddFlags creates it; it is complete when the flag set has been parsed.
type Flags struct {
	// Getenv reads environment variables; os.Getenv except in tests.
	Getenv func(string) string

	set    *pflag.FlagSet
	fields []*fieldFlag
	node   nodeFlags
}

// nodeFlags are the flags for this node only, which have no field in KubeletConfiguration.
//
// Upstream: cmd/kubelet/app/options/options.go, KubeletFlags.
//
// Many fields: one for each flag.
type nodeFlags struct {
	configFile, configDir         string
	kubeconfig, bootstrap         string
	hostname, nodeIP, rootDir     string
	lockFile                      string
	exitOnLockContention          bool
	labels                        map[string]string
	minContainerAge               time.Duration
	maxDeadPerContainer, maxDead  int32
	seccompDefault                bool
	certDir, cloudProvider        string
	runtimeCgroups, mounter       string
	credentialConfig, credentials string
	ignoreEvictionThreshold       bool
	housekeeping                  time.Duration
}

// AddFlags registers the kubelet's flags. Flags that are not supported are accepted but hidden from help; if one is
// set, [Config.NotActedOn] lists it. An underscore in the name of a flag is a dash.
func AddFlags(fs *pflag.FlagSet) *Flags {
	f := &Flags{Getenv: os.Getenv, set: fs}
	fs.SetNormalizeFunc(dashed)
	f.addNodeFlags()
	f.addFieldFlags()
	return f
}

// dashed returns the name of a flag with dashes in place of underscores: --node_labels is --node-labels.
//
// Upstream: component-base/cli/flag/flags.go, WordSepNormalizeFunc.
func dashed(_ *pflag.FlagSet, name string) pflag.NormalizedName {
	return pflag.NormalizedName(strings.ReplaceAll(name, "_", "-"))
}

func (f *Flags) addNodeFlags() {
	fs, n := f.set, &f.node
	fs.StringVar(&n.configFile, "config", "", "file with a KubeletConfiguration; flags override it")
	fs.StringVar(&n.configDir, "config-dir", "", "directory of drop-in files (*.conf, including subdirectories), merged into --config in path order")
	fs.StringVar(&n.rootDir, "root-dir", DefaultRootDir, "directory of the agent's state and of pod volumes")
	fs.StringVar(&n.hostname, "hostname-override", "", "name of the node; by default the hostname")
	fs.StringVar(&n.nodeIP, "node-ip", "", "IP address of the node, or one IPv4 and one IPv6 address, separated by a comma")
	fs.Var(labelsFlag{&n.labels}, "node-labels", "labels of the node, such as zone=a,disk=ssd")
	fs.StringVar(&n.lockFile, "lock-file", "", "file to lock before starting, so that only one agent runs")
	fs.BoolVar(&n.exitOnLockContention, "exit-on-lock-contention", false, "exit when another process opens --lock-file")
	fs.DurationVar(&n.minContainerAge, "minimum-container-ttl-duration", 0, "minimum age of a dead container before it is removed")
	fs.Int32Var(&n.maxDeadPerContainer, "maximum-dead-containers-per-container", 1, "number of dead instances to keep for each container")
	fs.Int32Var(&n.maxDead, "maximum-dead-containers", -1, "number of dead containers to keep on the node; a negative number is no limit")
	fs.BoolVar(&n.seccompDefault, "seccomp-default", false, "use RuntimeDefault as the default seccomp profile of containers")

	fs.StringVar(&n.kubeconfig, "kubeconfig", "", "kubeconfig file for the API server; without it, the agent is standalone and runs static pods only")
	fs.StringVar(&n.bootstrap, "bootstrap-kubeconfig", "", "kubeconfig file used to request a client certificate if --kubeconfig does not exist; the result is written to --kubeconfig")
	fs.StringVar(&n.certDir, "cert-dir", "", "directory of the agent's certificates; by default pki in --root-dir")
	fs.StringVar(&n.cloudProvider, "cloud-provider", "", "external if a cloud provider initializes the node: it removes the taint that the node has until then, and sets its addresses")
	fs.StringVar(&n.runtimeCgroups, "runtime-cgroups", "", "cgroup of the container runtime, such as /system.slice/containerd.service; /stats/summary has its usage")
	fs.StringVar(&n.credentialConfig, "image-credential-provider-config", "", "configuration file of the image credential providers")
	fs.StringVar(&n.credentials, "image-credential-provider-bin-dir", "", "directory of the image credential provider executables")
	fs.StringVar(&n.mounter, "experimental-mounter-path", "", "program that mounts file systems of the network (nfs, cifs, ceph, glusterfs) instead of mount")
	fs.BoolVar(&n.ignoreEvictionThreshold, "experimental-allocatable-ignore-eviction", false, "do not subtract eviction thresholds from allocatable")
	fs.DurationVar(&n.housekeeping, "housekeeping-interval", 10*time.Second, "interval at which cAdvisor checks its containers")
	for name := range ignoredFlags() {
		fs.Lookup(name).Hidden = true
	}
}

func (f *Flags) addFieldFlags() {
	defaults := &kubeletv1beta1.KubeletConfiguration{}
	defaultEvictions(defaults)
	setDefaults(defaults, resolveGates(nil, newReport()))
	acted := actedOn()
	for _, spec := range fieldFlags() {
		v := fieldAt(reflect.ValueOf(defaults).Elem(), spec.path, true)
		typ := v.Type()
		if typ.Kind() == reflect.Pointer {
			typ = typ.Elem()
			v = v.Elem()
		}
		ff := &fieldFlag{flagSpec: spec, typ: typ}
		if v.IsValid() {
			ff.def = ff.render(v)
		}
		shorthand := ""
		if spec.name == "v" {
			shorthand = "v"
		}
		ff.flag = f.set.VarPF(ff, spec.name, shorthand, spec.usage)
		ff.flag.Hidden = !acted[spec.path]
		if typ.Kind() == reflect.Bool {
			ff.flag.NoOptDefVal = "true"
		}
		f.fields = append(f.fields, ff)
	}
}

// apply overwrites the configuration with the flags that are set, and records which flag set which field.
func (f *Flags) apply(kc *kubeletv1beta1.KubeletConfiguration, r *report) {
	for _, ff := range f.fields {
		if !ff.flag.Changed || ff.path == "featureGates" {
			continue
		}
		ff.apply(kc)
		r.forgetBelow(ff.path)
		r.at[ff.path] = origin{flag: "--" + ff.name}
	}
	// The flag can only enable it: upstream ORs it with the field.
	if f.node.seccompDefault {
		kc.SeccompDefault = new(true)
		r.at["seccompDefault"] = origin{flag: "--seccomp-default"}
	}
}

// applyGates merges --feature-gates into the file's.
func (f *Flags) applyGates(kc *kubeletv1beta1.KubeletConfiguration, r *report) {
	for _, ff := range f.fields {
		if !ff.flag.Changed || ff.path != "featureGates" {
			continue
		}
		merged := map[string]bool{}
		maps.Copy(merged, kc.FeatureGates)
		for name, on := range ff.val.Interface().(map[string]bool) {
			merged[name] = on
			r.at[gatePath(name)] = origin{flag: "--" + ff.name}
		}
		kc.FeatureGates = merged
	}
}
