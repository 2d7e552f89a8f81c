package config

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"time"

	kubeletv1beta1 "k8s.io/kubelet/config/v1beta1"

	"github.com/kubeloupe/kubeloupe/agent/wholefile"
)

// endpointVariable has the runtime's socket if neither flag nor file sets it; the lab's env file sets it.
const endpointVariable = "CONTAINER_RUNTIME_ENDPOINT"

// A source is one configuration file that was read.
type source struct {
	name string
	data []byte
}

// Load reads the files that the flags name and returns the effective configuration. The flag set must have been parsed.
// Its error is an [*Errors] with every problem found, in all files and flags.
//
// Upstream: cmd/kubelet/app/server.go, NewKubeletCommand, mergeKubeletConfigurations.
func Load(flags *Flags) (*Config, error) {
	r := newReport()
	var main *source
	if name := flags.node.configFile; name != "" {
		main = read(name, r)
	}
	var dropins []source
	if dir := flags.node.configDir; dir != "" {
		for _, name := range dropinNames(dir, r) {
			if s := read(name, r); s != nil {
				dropins = append(dropins, *s)
			}
		}
	}
	return build(main, dropins, flags, r)
}

func read(name string, r *report) *source {
	data, err := wholefile.Read(name, wholefile.Large)
	if err != nil {
		r.problems = append(r.problems, Problem{File: name, Detail: plain(err)})
		return nil
	}
	return &source{name, data}
}

// dropinNames lists the *.conf files below dir in the order in which they are merged.
func dropinNames(dir string, r *report) []string {
	var names []string
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if !entry.IsDir() && filepath.Ext(path) == ".conf" {
			names = append(names, path)
		}
		return nil
	})
	if err != nil {
		r.problems = append(r.problems, Problem{File: dir, Field: "--config-dir", Detail: plain(err)})
	}
	return names
}

// plain removes the path from a file error: the report already has it.
func plain(err error) string {
	if pe, ok := errors.AsType[*fs.PathError](err); ok {
		return fmt.Sprintf("cannot %s: %v", pe.Op, pe.Err)
	}
	return err.Error()
}

// build is Load without reading files.
func build(main *source, dropins []source, flags *Flags, r *report) (*Config, error) {
	kc := &kubeletv1beta1.KubeletConfiguration{}
	var files []string
	if main != nil {
		files = append(files, main.name)
		decode(main.name, main.data, kc, r)
		resolvePaths(kc, filepath.Dir(main.name))
	}
	explicit := kc.DeepCopy()
	defaultEvictions(kc)
	if len(dropins) > 0 {
		// As in upstream, drop-ins change the main file's configuration with its defaults. Those that depend on gates follow: a drop-in may set the gates.
		setDefaults(kc, Gates{})
	}
	for _, s := range dropins {
		files = append(files, s.name)
		decode(s.name, s.data, kc, r)
		decode(s.name, s.data, explicit, newReport())
	}
	// Defaults are set before flags: a flag may set zero explicitly. Gates come before them, since defaults depend on
	// them; the fields' own flags come after.
	flags.applyGates(kc, r)
	gates := resolveGates(kc.FeatureGates, r)
	setDefaults(kc, gates)
	flags.apply(kc, r)
	validate(kc, gates, r)
	flags.validate(r)

	if err := r.errors(flags.node.configFile, files); err != nil {
		return nil, err
	}
	c := group(kc, &flags.node, gates)
	c.Files = files
	_, c.Node.MaxOpenFilesSet = r.at["maxOpenFiles"]
	c.Cgroups.DriverFrom = r.at["cgroupDriver"].String()
	c.Runtime.EndpointFrom = r.at["containerRuntimeEndpoint"].String()
	if c.Runtime.Endpoint == "" {
		c.Runtime.Endpoint, c.Runtime.EndpointFrom = flags.Getenv(endpointVariable), "$"+endpointVariable
	}
	if c.Runtime.Endpoint == "" {
		c.Runtime.EndpointFrom = ""
	}
	c.NotActedOn = notActedOn(explicit, kc.FeatureGates, flags)
	return c, nil
}

// resolvePaths makes relative paths of the main file absolute, relative to its directory.
//
// Upstream: pkg/kubelet/kubeletconfig/configfiles/configfiles.go, resolveRelativePaths.
func resolvePaths(kc *kubeletv1beta1.KubeletConfiguration, dir string) {
	paths := []*string{
		&kc.StaticPodPath, &kc.Authentication.X509.ClientCAFile, &kc.TLSCertFile, &kc.TLSPrivateKeyFile,
		&kc.VolumePluginDir, &kc.PodLogsDir,
	}
	if kc.ResolverConfig != nil {
		paths = append(paths, kc.ResolverConfig)
	}
	for _, p := range paths {
		if *p != "" && !filepath.IsAbs(*p) {
			*p = filepath.Join(dir, *p)
		}
	}
}

// notActedOn lists what a file or a flag sets and has no effect. Zero values of fields without a pointer count as
// not set; gates count if they differ from their default.
func notActedOn(explicit *kubeletv1beta1.KubeletConfiguration, set map[string]bool, flags *Flags) []Ignored {
	found := map[string]string{}
	fields := ignoredFields()
	for path, why := range fields {
		if isSet(fieldAt(reflect.ValueOf(explicit).Elem(), path, false)) {
			found[path] = why
		}
	}
	for _, f := range flags.fields {
		why, ignored := fields[f.path]
		if _, listed := found[f.path]; ignored && f.flag.Changed && !listed {
			found["--"+f.name] = why
		}
	}
	for name, why := range ignoredFlags() {
		if flags.set.Changed(name) {
			found["--"+name] = why
		}
	}
	if !slices.Contains([]string{"", externalCloud}, flags.node.cloudProvider) {
		found["--cloud-provider"] = ignoredCloud
	}
	known, acted, always := knownGates(), actedOnGates(), alwaysGates()
	for name, on := range set {
		if g, ok := known[name]; !acted[name] && (!ok || g.on != on) {
			found[gatePath(name)] = ignoredGate
			if slices.Contains(always, name) {
				found[gatePath(name)] = ignoredAlways
			}
		}
	}
	var out []Ignored
	for _, name := range slices.Sorted(maps.Keys(found)) {
		out = append(out, Ignored{name, found[name]})
	}
	return out
}

// restartBackoff returns the first and the maximum back-off of CrashLoopBackOff. The field has a default: the maximum of
// ReduceDefaultCrashLoopBackOffDecay counts only without the gate KubeletCrashLoopBackOffMax.
//
// Upstream: pkg/kubelet/kubelet.go, newCrashLoopBackOff; KEP-4603.
func restartBackoff(kc *kubeletv1beta1.KubeletConfiguration, gates Gates) (first, maximum time.Duration) {
	first, maximum = 10*time.Second, 5*time.Minute
	if gates.Enabled("ReduceDefaultCrashLoopBackOffDecay") {
		first, maximum = time.Second, time.Minute
	}
	if p := kc.CrashLoopBackOff.MaxContainerRestartPeriod; p != nil && gates.Enabled("KubeletCrashLoopBackOffMax") {
		maximum = p.Duration
	}
	return min(first, maximum), maximum
}

// String returns what set a value: a flag or a file.
func (o origin) String() string {
	if o.flag != "" {
		return o.flag
	}
	return o.file
}
