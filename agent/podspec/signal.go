package podspec

import (
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// SignalOf returns the CRI's value of a signal's name, such as SIGTERM or SIGRTMIN+3, and false for other names.
//
// Upstream: pkg/kubelet/kuberuntime/helpers.go, signalNameToRuntimeEnum.
func SignalOf(name v1.Signal) (runtimeapi.Signal, bool) {
	if !strings.HasPrefix(string(name), "SIG") {
		return runtimeapi.Signal_SIGNAL_RUNTIME_DEFAULT, false
	}
	spelled := strings.NewReplacer("+", "PLUS", "-", "MINUS").Replace(string(name))
	value, ok := runtimeapi.Signal_value["SIGNAL_"+spelled]
	return runtimeapi.Signal(value), ok
}

// validateStopSignal checks lifecycle.stopSignal, whether or not its feature gate is on.
//
// Upstream: pkg/apis/core/validation/validation.go, validateStopSignal.
func validateStopSignal(c *v1.Container, os *v1.PodOS, path *field.Path) field.ErrorList {
	if c.Lifecycle == nil || c.Lifecycle.StopSignal == nil {
		return nil
	}
	at := path.Child("lifecycle", "stopSignal")
	if os == nil {
		return field.ErrorList{field.Forbidden(at, "needs spec.os.name, such as linux")}
	}
	if _, ok := SignalOf(*c.Lifecycle.StopSignal); !ok {
		return field.ErrorList{field.Invalid(at, *c.Lifecycle.StopSignal, "must be the name of a signal, such as SIGTERM")}
	}
	return nil
}
