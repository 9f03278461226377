package dev.lite.tier.session;

import java.util.Random;

/** What an application of a random history serves: a function or a port. One thread, which plays the history. */
interface HistoryService {
    HistoryApp app();

    CallBook.Function function();

    /** Interrupts one of the threads, if there is one. */
    void interruptOne(Random random);

    /** Before it or its application is closed. */
    void announceClose();

    /** Closes it. Its threads end soon. */
    void close();

    void awaitThreads();
}
