//go:build !linux

package control

// moved returns nil: no notifications are available.
func (l *listener) moved() (changed <-chan struct{}, stop func()) { return nil, func() {} }
