package dev.lite.fabric;

import java.util.List;

/** One node's side of a fabric. For threads, ownership and order see the package. */
public interface Fabric extends AutoCloseable {

    /** The driver's name. */
    String name();

    /** The address that peers pass to {@link #connect}; empty before {@link #register}. */
    String localAddress();

    /** What this fabric offers. Never changes. Any thread. */
    FabricCapabilities capabilities();

    /**
     * Offers this memory to peers: offset 0 of what they address is its first byte. Called once, before anything else.
     *
     * @throws FabricException when the driver cannot take this memory
     * @throws IllegalStateException when memory is registered already
     */
    void register(FabricMemory memory);

    /**
     * Starts a connection. Does not block. Posts to the endpoint answer {@link Post#CLOSED} until
     * {@link FabricHandler#connected} is called. If the connection fails, also because the address is invalid,
     * {@link FabricHandler#disconnected} is called. A node may connect to itself, which makes two endpoints here.
     *
     * @throws IllegalStateException before {@link #register} and after {@link #close}
     */
    FabricEndpoint connect(String address);

    /**
     * Passes at most {@code limit} completions, immediates and connection events to the handler. Never blocks. Poll role.
     *
     * <p>A driver may leave another thread's post unsent until the next poll. So a thread with the poll role polls, or calls
     * {@link #await} or {@link #arm}, within microseconds, or passes the role to a thread that does.
     *
     * @return the number of calls of the handler; 1 if there were none, but this poll served a peer's request (see
     *     {@link FabricCapabilities}); 0 if there was nothing to do
     */
    int poll(int limit);

    /**
     * About how many times longer an empty {@link #poll} takes than a read of memory, at least 1. A thread that spins before it
     * blocks divides its spin count by this. Any thread.
     */
    default int pollCost() {
        return 1;
    }

    /**
     * Blocks until there may be something to poll, {@link #wakeup} is called, or the timeout has passed. Poll role.
     *
     * @param timeoutNs nanoseconds, at least 0
     */
    void await(long timeoutNs);

    /**
     * Arms {@link #awaitArmed}: until {@link #disarm}, anything that can be polled ends it. A thread that gives up the poll role
     * without a successor arms the fabric first. Never blocks. Poll role.
     *
     * @return false if there may already be something to poll that does not end {@link #awaitArmed}; the fabric is armed in either
     *     case
     */
    boolean arm();

    /**
     * {@link #arm} by a thread that will probably poll again within microseconds. A driver may let {@link #awaitArmed} end late, by
     * about half a millisecond.
     *
     * @return as that of {@link #arm}
     */
    default boolean armBriefly() {
        return arm();
    }

    /**
     * Ends {@link #arm}. A thread that takes the poll role disarms first, so that what arrives while it polls wakes no other
     * thread. A running {@link #awaitArmed} continues. Never blocks, and is cheap. Poll role.
     */
    void disarm();

    /**
     * Blocks until there may be something to poll while the fabric is armed, or there was since the last {@link #arm};
     * until {@link #wakeup}; or until the timeout has passed. One thread at a time, which does <b>not</b> hold the poll role:
     * another thread may hold it, poll and even {@link #await} meanwhile. Spurious returns are allowed, but must not repeat
     * while the fabric is disarmed.
     *
     * @param timeoutNs nanoseconds, at least 0
     */
    void awaitArmed(long timeoutNs);

    /**
     * The memories of peers that are {@linkplain FabricEndpoint#mappedAddress mapped} here although they are lost: their node has
     * closed its fabric, or its process has ended; no endpoint to it is left; and the memory has no name by which another
     * process could open it. So nobody uses it again, but the system keeps it for as long as it is mapped. A memory that is
     * listed once stays listed until it is {@linkplain #unmap unmapped}. Any thread; may make system calls.
     */
    default List<AddressRange> lostMemories() {
        return List.of();
    }

    /**
     * Unmaps one of the {@link #lostMemories}. The caller makes sure that nobody uses its addresses any more. Does nothing if it is
     * not one of them, or the fabric is closed. Any thread.
     */
    default void unmap(AddressRange lost) {}

    /** Ends the current {@link #await}, or else the next one, and likewise {@link #awaitArmed}. Any thread. */
    void wakeup();

    /**
     * Closes every endpoint and the fabric. Outstanding operations fail with {@link FabricError#FLUSHED}: their
     * {@code failed} calls, and {@code disconnected} for every endpoint, run on the calling thread before this returns.
     * Afterwards no handler method runs, the driver no longer uses the registered segment, {@link #poll} answers 0,
     * {@link #await} returns at once, and a second {@code close} does nothing. The caller holds the poll role.
     */
    @Override
    void close();
}
