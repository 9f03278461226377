package dev.lite.fabric;

/** One node's side of a fabric. For threads, ownership and order see the package. */
public interface Fabric extends AutoCloseable {

    /** The driver's name. */
    String name();

    /** What a peer gives to its {@link #connect}; known from {@link #register} on. */
    String localAddress();

    /** What this fabric offers. Any thread, from the time on when it was opened; it does not change. */
    FabricCapabilities capabilities();

    /**
     * Offers this memory to peers: offset 0 of what they address is its first byte. Called once, before anything else.
     *
     * @throws FabricException when the driver cannot take this memory
     * @throws IllegalStateException when memory is registered already
     */
    void register(FabricMemory memory);

    /**
     * Starts a connection. The endpoint is usable from {@link FabricHandler#connected} on; posts before answer
     * {@link Post#CLOSED}. A failure to connect, also to an address that means nothing, arrives as
     * {@link FabricHandler#disconnected}. Does not block. The own address is allowed: it makes two endpoints here.
     *
     * @throws IllegalStateException before {@link #register} and after {@link #close}
     */
    FabricEndpoint connect(String address);

    /**
     * Hands at most {@code limit} completions, immediates and connection events to the handler. Never blocks. Poll role.
     *
     * @return how many it handed over, or 1 when there was nothing to hand over, but something to do for a peer (see
     *     {@link FabricCapabilities}); 0 when there was nothing to do
     */
    int poll(int limit);

    /**
     * How much longer a {@link #poll} that finds nothing takes than a look at memory, about: whoever polls in vain before it
     * sleeps does so the fewer times, at least 1. Any thread.
     */
    default int pollCost() {
        return 1;
    }

    /**
     * Blocks until there may be something to poll, {@link #wakeup} is called, or the time is over. Poll role.
     *
     * @param timeoutNs nanoseconds, at least 0
     */
    void await(long timeoutNs);

    /**
     * Arms {@link #standBy}: from now on, until {@link #disarm}, what may be polled ends it. Whoever gives the poll role up,
     * and nobody takes it over, arms first. Poll role; never blocks.
     *
     * @return false when there may be something to poll already that does not end {@link #standBy} by itself; the fabric is armed all
     *     the same
     */
    boolean arm();

    /**
     * Ends {@link #arm}: whoever takes the poll role over disarms first, so that what arrives while it polls wakes nobody
     * else. {@link #standBy} goes on. Poll role; never blocks, and costs little.
     */
    void disarm();

    /**
     * Blocks until something may be polled while the fabric is armed, or was since the last {@link #arm}; until
     * {@link #wakeup}; or until the time is over. One thread at a time, which does <b>not</b> hold the poll role: another
     * thread may hold it, poll and even {@link #await} meanwhile. May return without a reason, but not again and again
     * while the fabric is disarmed.
     *
     * @param timeoutNs nanoseconds, at least 0
     */
    void standBy(long timeoutNs);

    /** Makes the current, or else the next, {@link #await} return, and {@link #standBy} likewise. Any thread. */
    void wakeup();

    /**
     * Closes every endpoint and the fabric. Operations still under way fail with {@link FabricError#FLUSHED}: their
     * {@code failed} calls, and the {@code disconnected} of every endpoint, run on the calling thread before this returns;
     * no handler method runs afterwards, and the driver uses the registered segment no more. The caller holds the poll
     * role. Afterwards {@link #poll} answers 0, {@link #await} returns at once, and a second {@code close} does nothing.
     */
    @Override
    void close();
}
