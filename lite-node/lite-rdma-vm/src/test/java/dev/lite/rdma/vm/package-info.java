/**
 * Tests on a soft RDMA device. {@link dev.lite.rdma.vm.VirtualMachine} boots a virtual machine whose file system is this
 * machine's, read-only, so that it runs the same JDK and the same class path; {@link dev.lite.rdma.vm.GuestTests} is a JUnit
 * launch inside. With {@code -Drdma.here} the same runs in this machine's own processes.
 */
@NullMarked
package dev.lite.rdma.vm;

import org.jspecify.annotations.NullMarked;
