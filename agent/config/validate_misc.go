package config

import (
	"fmt"
	"maps"
	"math"
	"net/url"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/component-helpers/node/util/sysctl"
)

func index(field string, i int) string { return fmt.Sprintf("%s[%d]", field, i) }

// sysctls checks the names of sysctls.
//
// Upstream: pkg/kubelet/sysctl/allowlist.go, NewAllowlist; pkg/apis/policy/validation/validation.go, IsValidSysctlPattern.
func (c *checker) sysctls() {
	name := regexp.MustCompile(`^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$`)
	seen := map[string]bool{}
	for _, k := range slices.Sorted(maps.Keys(c.kc.DefaultPodSysctls)) {
		at := fmt.Sprintf("defaultPodSysctls[%q]", k)
		if len(k) > 253 || !name.MatchString(k) {
			c.add(at, "is not the name of a sysctl")
			continue
		}
		if ns, _, _ := sysctl.GetNamespace(k); ns == sysctl.UnknownNamespace {
			c.add(at, "belongs to the node, not to a namespace, so pods cannot have their own")
		}
		if normal := sysctl.NormalizeName(k); seen[normal] {
			c.add(at, "is set twice, as %s", normal)
		} else {
			seen[normal] = true
		}
	}
	pattern := regexp.MustCompile(`^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[./])*([a-z0-9][-_a-z0-9]*)?[a-z0-9*]$`)
	for i, s := range c.kc.AllowedUnsafeSysctls {
		at := index("allowedUnsafeSysctls", i)
		if len(s) > 253 || !pattern.MatchString(s) {
			c.add(at, "%q must be the name of a sysctl, such as kernel.msgmax, or its beginning and *, such as net.core.*", s)
			continue
		}
		if ns, _, _ := sysctl.GetNamespace(s); ns == sysctl.UnknownNamespace {
			c.add(at, "%q belongs to the node, not to a namespace: must be one that each pod has, such as kernel.msgmax, kernel.sem, fs.mqueue.* or net.*", s)
		}
	}
}

func (c *checker) taints() {
	for i, t := range c.kc.RegisterWithTaints {
		at := index("registerWithTaints", i)
		for _, e := range validation.IsQualifiedName(t.Key) {
			c.add(at+".key", "%q: %s", t.Key, e)
		}
		for _, e := range validation.IsValidLabelValue(t.Value) {
			c.add(at+".value", "%q: %s", t.Value, e)
		}
		c.oneOf(at+".effect", string(t.Effect), "", string(corev1.TaintEffectNoSchedule), string(corev1.TaintEffectPreferNoSchedule), string(corev1.TaintEffectNoExecute))
		if t.TimeAdded != nil {
			c.add(at+".timeAdded", "must be left out")
		}
	}
}

// logging checks klog's options.
//
// Upstream: component-base/logs/api/v1/options.go, Validate.
func (c *checker) logging() {
	l := c.kc.Logging
	if d := l.FlushFrequency.Duration.Duration; d <= 0 {
		c.add("logging.flushFrequency", "%v must be above zero", d)
	}
	if l.Verbosity > math.MaxInt32 {
		c.add("logging.verbosity", "%d must be at most %d", l.Verbosity, math.MaxInt32)
	}
	if len(l.VModule) > 0 && l.Format != "text" {
		c.add("logging.vmodule", "only works with format text")
	}
	for i, m := range l.VModule {
		if m.FilePattern == "" || strings.ContainsAny(m.FilePattern, "=,") {
			c.add(index("logging.vmodule", i)+".filePattern", "%q must be a file name or pattern without = and comma", m.FilePattern)
		}
		if m.Verbosity > math.MaxInt32 {
			c.add(index("logging.vmodule", i)+".verbosity", "%d must be at most %d", m.Verbosity, math.MaxInt32)
		}
	}
	c.logSize()
}

// logSize checks the size from which a log is rotated; a negative one turns rotation off. 100m, a tenth of a byte, is usually meant as 100M.
//
// Upstream: pkg/kubelet/logs/container_log_manager.go, parseMaxSize. There, 0.5Gi is not valid either.
func (c *checker) logSize() {
	const field = "containerLogMaxSize"
	q, ok := c.amount(field, c.kc.ContainerLogMaxSize)
	if ok && q.Cmp(*resource.NewQuantity(q.Value(), q.Format)) != 0 {
		c.add(field, "%q must be a whole number of bytes, such as \"10Mi\"", c.kc.ContainerLogMaxSize)
	}
}

// observability checks tracing and metrics.
//
// Upstream: component-base/tracing/api/v1/config.go; component-base/metrics/options.go, ValidateShowHiddenMetricsVersion.
func (c *checker) observability() {
	if t := c.kc.Tracing; t != nil {
		if r := t.SamplingRatePerMillion; r != nil {
			c.between("tracing.samplingRatePerMillion", int64(*r), 0, 1_000_000)
		}
		if e := t.Endpoint; e != nil {
			whole := *e
			if !strings.Contains(whole, "//") {
				whole = "dns://" + whole
			}
			u, err := url.Parse(whole)
			if err != nil || !slices.Contains([]string{"dns", "unix", "unix-abstract"}, u.Scheme) {
				c.add("tracing.endpoint", "%q must be HOST:PORT or a dns, unix or unix-abstract URL", *e)
			}
		}
	}
	// Hidden metrics can be shown only for the previous release.
	if v := c.kc.ShowHiddenMetricsForVersion; v != "" && v != "1.36" {
		c.add("showHiddenMetricsForVersion", "%q must be \"1.36\", the release before this one", v)
	}
}
