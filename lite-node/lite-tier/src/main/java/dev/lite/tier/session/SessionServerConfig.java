package dev.lite.tier.session;

import dev.lite.session.protocol.SessionArea;
import dev.lite.session.protocol.SessionProtocol;
import java.nio.file.Path;
import java.time.Duration;

/**
 * How a node serves sessions. Start with {@link #of}; every {@code with} method returns a changed copy.
 *
 * @param socket the path of the Unix socket; at most 106 bytes of UTF-8, and its directory must exist
 * @param socketMode the socket's permission bits; users with write permission may attach
 * @param policy decides who may attach, as which principal
 * @param area slots and windows of each session; they take shared memory when they are first used
 * @param sessionsMax the limit of open sessions
 * @param handlesMax the limit of handles per session
 * @param requestsMax the limit of control requests under way per session
 * @param helloTimeout how long a connected process may be silent before its connection is closed
 * @param requestDeadlineMax the longest deadline of a control request; longer ones are cut
 * @param restAfter how long a session has a data thread of its own after its last command. After that a thread for many sessions waits
 *     for its next command, which takes up to a millisecond more
 * @param spins how many times a session's thread polls before it blocks; 0 blocks at once. One poll takes 40 to 130 ns
 */
public record SessionServerConfig(
        Path socket,
        int socketMode,
        PrincipalPolicy policy,
        SessionArea area,
        int sessionsMax,
        int handlesMax,
        int requestsMax,
        Duration helloTimeout,
        Duration requestDeadlineMax,
        Duration restAfter,
        int spins) {

    private static final int SESSIONS_DEFAULT = 256;
    private static final int HANDLES_DEFAULT = 1 << 20;
    private static final int REQUESTS_DEFAULT = 16;
    private static final int REQUESTS_MAX = 1024;
    private static final int WINDOW_BYTES_DEFAULT = 64 * 1024;
    private static final Duration DEADLINE_LONGEST = Duration.ofDays(1);

    /**
     * Checks the values.
     *
     * @throws IllegalArgumentException when one is out of range
     */
    public SessionServerConfig {
        requireWithin("sessions per node", sessionsMax, 1, 1 << 16);
        requireWithin("handles per session", handlesMax, 1, HandleTable.HANDLES_MAX);
        requireWithin("control requests under way per session", requestsMax, 1, REQUESTS_MAX);
        requireWithin("spins", spins, 0, 10_000_000);
        requirePositive("hello timeout", helloTimeout);
        requirePositive("longest deadline of a control request", requestDeadlineMax);
        requirePositive("time until a session rests", restAfter);
    }

    /** The defaults: mode 0660, all users as principals by user id, 64 slots with windows of 64 KiB, 256 sessions. */
    public static SessionServerConfig of(Path socket) {
        return new SessionServerConfig(
                socket,
                0660,
                PrincipalPolicy.byUid(),
                new SessionArea(SessionArea.SLOTS_MAX, WINDOW_BYTES_DEFAULT),
                SESSIONS_DEFAULT,
                HANDLES_DEFAULT,
                REQUESTS_DEFAULT,
                Duration.ofSeconds(5),
                Duration.ofHours(1),
                Duration.ofMinutes(1),
                SessionProtocol.spinsDefault(Runtime.getRuntime().availableProcessors()));
    }

    /** With this mode of the socket. */
    public SessionServerConfig withSocketMode(int mode) {
        return new SessionServerConfig(
                socket,
                mode,
                policy,
                area,
                sessionsMax,
                handlesMax,
                requestsMax,
                helloTimeout,
                requestDeadlineMax,
                restAfter,
                spins);
    }

    /** With this policy. */
    public SessionServerConfig withPolicy(PrincipalPolicy newPolicy) {
        return new SessionServerConfig(
                socket,
                socketMode,
                newPolicy,
                area,
                sessionsMax,
                handlesMax,
                requestsMax,
                helloTimeout,
                requestDeadlineMax,
                restAfter,
                spins);
    }

    /** With this size of the shared memory. */
    public SessionServerConfig withArea(SessionArea newArea) {
        return new SessionServerConfig(
                socket,
                socketMode,
                policy,
                newArea,
                sessionsMax,
                handlesMax,
                requestsMax,
                helloTimeout,
                requestDeadlineMax,
                restAfter,
                spins);
    }

    /** With these limits. */
    public SessionServerConfig withLimits(int newSessionsMax, int newHandlesMax, int newRequestsMax) {
        return new SessionServerConfig(
                socket,
                socketMode,
                policy,
                area,
                newSessionsMax,
                newHandlesMax,
                newRequestsMax,
                helloTimeout,
                requestDeadlineMax,
                restAfter,
                spins);
    }

    /** With this hello timeout. */
    public SessionServerConfig withHelloTimeout(Duration timeout) {
        return new SessionServerConfig(
                socket,
                socketMode,
                policy,
                area,
                sessionsMax,
                handlesMax,
                requestsMax,
                timeout,
                requestDeadlineMax,
                restAfter,
                spins);
    }

    /** With this time until a session's data thread ends for lack of commands. */
    public SessionServerConfig withRestAfter(Duration newRestAfter) {
        return new SessionServerConfig(
                socket,
                socketMode,
                policy,
                area,
                sessionsMax,
                handlesMax,
                requestsMax,
                helloTimeout,
                requestDeadlineMax,
                newRestAfter,
                spins);
    }

    /** With this number of spins. */
    public SessionServerConfig withSpins(int newSpins) {
        return new SessionServerConfig(
                socket,
                socketMode,
                policy,
                area,
                sessionsMax,
                handlesMax,
                requestsMax,
                helloTimeout,
                requestDeadlineMax,
                restAfter,
                newSpins);
    }

    private static void requireWithin(String what, int value, int min, int max) {
        if (value < min || value > max) {
            throw new IllegalArgumentException("%s: %d; must be %d to %d".formatted(what, value, min, max));
        }
    }

    private static void requirePositive(String what, Duration value) {
        if (value.isNegative() || value.isZero() || value.compareTo(DEADLINE_LONGEST) > 0) {
            throw new IllegalArgumentException(
                    "%s: %s; must be positive and at most %s".formatted(what, value, DEADLINE_LONGEST));
        }
    }
}
