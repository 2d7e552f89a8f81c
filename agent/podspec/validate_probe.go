package podspec

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

func validateProbes(c *v1.Container, grace *int64, path *field.Path) field.ErrorList {
	errs := validateProbe(c.LivenessProbe, path.Child("livenessProbe"))
	errs = append(errs, validateProbe(c.StartupProbe, path.Child("startupProbe"))...)
	errs = append(errs, validateProbe(c.ReadinessProbe, path.Child("readinessProbe"))...)
	errs = append(errs, succeedsAtOnce(c.LivenessProbe, path.Child("livenessProbe"))...)
	errs = append(errs, succeedsAtOnce(c.StartupProbe, path.Child("startupProbe"))...)
	if p := c.ReadinessProbe; p != nil && p.TerminationGracePeriodSeconds != nil {
		errs = append(errs, field.Forbidden(path.Child("readinessProbe", "terminationGracePeriodSeconds"), "may not be set for readiness probes"))
	}
	if l := c.Lifecycle; l != nil {
		errs = append(errs, validateHook(l.PostStart, grace, path.Child("lifecycle", "postStart"))...)
		errs = append(errs, validateHook(l.PreStop, grace, path.Child("lifecycle", "preStop"))...)
	}
	return errs
}

func succeedsAtOnce(p *v1.Probe, path *field.Path) field.ErrorList {
	if p != nil && p.SuccessThreshold != 1 {
		return field.ErrorList{field.Invalid(path.Child("successThreshold"), p.SuccessThreshold, "must be 1")}
	}
	return nil
}

// forbidProbes reports fields that an init container, other than a sidecar, cannot have.
func forbidProbes(c *v1.Container, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	forbid := func(set bool, name string) {
		if set {
			errs = append(errs, field.Forbidden(path.Child(name), "may not be set for init containers without restartPolicy: Always"))
		}
	}
	forbid(c.Lifecycle != nil, "lifecycle")
	forbid(c.LivenessProbe != nil, "livenessProbe")
	forbid(c.ReadinessProbe != nil, "readinessProbe")
	forbid(c.StartupProbe != nil, "startupProbe")
	return errs
}

func validateProbe(p *v1.Probe, path *field.Path) field.ErrorList {
	if p == nil {
		return nil
	}
	errs := validateHandler(p.Exec, p.HTTPGet, p.TCPSocket, path)
	n := setFields(p.ProbeHandler)
	if p.GRPC != nil {
		errs = append(errs, validatePort(intstr.FromInt32(p.GRPC.Port), path.Child("grpc", "port"))...)
	}
	errs = append(errs, exactlyOne(n, "exec, httpGet, tcpSocket, grpc", path)...)
	for _, f := range []struct {
		name  string
		value int32
	}{
		{"initialDelaySeconds", p.InitialDelaySeconds},
		{"timeoutSeconds", p.TimeoutSeconds},
		{"periodSeconds", p.PeriodSeconds},
		{"successThreshold", p.SuccessThreshold},
		{"failureThreshold", p.FailureThreshold},
	} {
		if f.value < 0 {
			errs = append(errs, field.Invalid(path.Child(f.name), f.value, "must be greater than or equal to 0"))
		}
	}
	if g := p.TerminationGracePeriodSeconds; g != nil && *g <= 0 {
		errs = append(errs, field.Invalid(path.Child("terminationGracePeriodSeconds"), *g, "must be greater than 0"))
	}
	return errs
}

func validateHook(h *v1.LifecycleHandler, grace *int64, path *field.Path) field.ErrorList {
	if h == nil {
		return nil
	}
	errs := validateHandler(h.Exec, h.HTTPGet, h.TCPSocket, path)
	if h.Sleep != nil && (h.Sleep.Seconds < 0 || (grace != nil && h.Sleep.Seconds > *grace)) {
		errs = append(errs, field.Invalid(path.Child("sleep", "seconds"), h.Sleep.Seconds,
			"must be between 0 and terminationGracePeriodSeconds"))
	}
	return append(errs, exactlyOne(setFields(*h), "exec, httpGet, tcpSocket, sleep", path)...)
}

func validateHandler(exec *v1.ExecAction, get *v1.HTTPGetAction, tcp *v1.TCPSocketAction, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if exec != nil && len(exec.Command) == 0 {
		errs = append(errs, field.Required(path.Child("exec", "command"), ""))
	}
	if get != nil {
		errs = append(errs, validatePort(get.Port, path.Child("httpGet", "port"))...)
		errs = append(errs, oneOf(path.Child("httpGet", "scheme"), get.Scheme, v1.URISchemeHTTP, v1.URISchemeHTTPS)...)
		for i, h := range get.HTTPHeaders {
			errs = append(errs, messages(path.Child("httpGet", "httpHeaders").Index(i).Child("name"), h.Name, validation.IsHTTPHeaderName(h.Name))...)
		}
	}
	if tcp != nil {
		errs = append(errs, validatePort(tcp.Port, path.Child("tcpSocket", "port"))...)
	}
	return errs
}

func validatePort(port intstr.IntOrString, path *field.Path) field.ErrorList {
	if port.Type == intstr.String {
		return messages(path, port.StrVal, validation.IsValidPortName(port.StrVal))
	}
	return messages(path, port.IntVal, validation.IsValidPortNum(int(port.IntVal)))
}

func exactlyOne(n int, what string, path *field.Path) field.ErrorList {
	switch {
	case n == 0:
		return field.ErrorList{field.Required(path, "one of "+what)}
	case n > 1:
		return field.ErrorList{field.Forbidden(path, "may not have more than one of "+what)}
	}
	return nil
}
