/**
 * Tests on a soft RDMA device. {@link dev.lite.rdma.vm.VirtualMachine} boots a virtual machine on this machine's file
 * system, read-only, so that it has the same JDK and class path; {@link dev.lite.rdma.vm.GuestTests} is a JUnit launch
 * inside. With {@code -Drdma.here} the tests run in processes of this machine.
 *
 * <p>One room, although it has more than 20 classes: the tests, the programs they start and the machines these run on are
 * used only together.
 */
@NullMarked
package dev.lite.rdma.vm;

import org.jspecify.annotations.NullMarked;
