//go:build !linux

package control

// moved never is: nobody tells.
func (l *listener) moved() (changed <-chan struct{}, stop func()) { return nil, func() {} }
