package dev.lite.cluster;

/** The environment of the cases; only {@link ClusterDirectoryContract} implements it. */
interface DirectoryCases {
    /** Opens another session with the cluster of this test; it is closed after the test. */
    ClusterDirectory open();

    /** Starts a leading manager, which runs until {@link #stopKeepers} or the end of the test. */
    void keepEpochs();

    /** Stops every manager of {@link #keepEpochs}. */
    void stopKeepers();

    /** Makes the directory unreachable for every session. */
    void stopDirectory();

    /** Ends {@link #stopDirectory}. */
    void startDirectory();

    /** Ends the session, like the directory ends a session that was silent for too long. */
    void expire(ClusterDirectory session);
}
