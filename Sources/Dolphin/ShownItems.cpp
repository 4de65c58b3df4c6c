#include "ShownItems.h"

#include <QCoreApplication>
#include <QElapsedTimer>
#include <QJsonDocument>
#include <QProcess>
#include <QTimer>

/// Directories whose states are kept; beyond, the one that was first shown is dropped.
static constexpr int directoryLimit = 256;
/// A helper that ended is started again after a second, after each further failure twice as late, at most so.
static constexpr int longestPauseSeconds = 60;
/// A menu waits for the helper at most so long; without an answer it offers nothing.
static constexpr int menuMilliseconds = 300;
/// What a helper has not read; beyond, it hangs, and is started again.
static constexpr qint64 queueBytes = 4 << 20;

ShownItems *ShownItems::instance()
{
    static ShownItems *items = new ShownItems(QCoreApplication::instance());
    return items;
}

ShownItems::ShownItems(QObject *application)
    : QObject(application)
{
    connect(QCoreApplication::instance(), &QCoreApplication::aboutToQuit, this, &ShownItems::endHelper);
}

bool ShownItems::isInContainer(const QString &path)
{
    return m_containers.contain(path);
}

QStringList ShownItems::emblems(const QString &path)
{
    const int slash = path.lastIndexOf(QLatin1Char('/'));
    const QString directory = path.left(slash);
    // The root of a container is looked at in its parent, which is no part of it.
    if (slash <= 0 || !m_containers.contain(directory)) {
        return {};
    }
    const auto found = m_known.constFind(directory);
    if (found != m_known.constEnd()) {
        return emblemsOf(found->value(path.mid(slash + 1)));
    }
    m_known.insert(directory, {});
    m_order.append(directory);
    if (m_order.size() > directoryLimit) {
        m_known.remove(m_order.takeFirst());
    }
    send({{QStringLiteral("show"), directory}});
    return {};
}

/// As State.emblem in dewpoint_desktop/states.py.
QStringList ShownItems::emblemsOf(const QString &state) const
{
    if (state.isEmpty() || state == QLatin1String("unsynced")) {
        return {};
    }
    const bool isPaused = state == QLatin1String("paused");
    return {QStringLiteral("emblem-dewpoint-") + (isPaused ? QStringLiteral("cloud") : state)};
}

QJsonArray ShownItems::actions(const QStringList &paths)
{
    m_menu += 1;
    send({{QStringLiteral("menu"), m_menu}, {QStringLiteral("paths"), QJsonArray::fromStringList(paths)}});
    QElapsedTimer waited;
    waited.start();
    while (m_answeredMenu != m_menu && m_helper && waited.elapsed() < menuMilliseconds) {
        m_helper->waitForReadyRead(static_cast<int>(menuMilliseconds - waited.elapsed()));
    }
    return m_answeredMenu == m_menu ? m_offered : QJsonArray();
}

void ShownItems::perform(const QJsonObject &action, const QStringList &paths)
{
    QJsonObject order = action;
    order.insert(QStringLiteral("paths"), QJsonArray::fromStringList(paths));
    send(order);
}

// The process

void ShownItems::start()
{
    QString modules = qEnvironmentVariable("DEWPOINT_DESKTOP_MODULES");
    if (modules.isEmpty()) {
        modules = QStringLiteral("/usr/share/dewpoint/desktop");
    }
    m_helper = new QProcess(this);
    m_helper->setProcessChannelMode(QProcess::ForwardedErrorChannel);
    connect(m_helper, &QProcess::readyReadStandardOutput, this, &ShownItems::readAnswers);
    connect(m_helper, qOverload<int, QProcess::ExitStatus>(&QProcess::finished), this, &ShownItems::startAgainLater);
    connect(m_helper, &QProcess::errorOccurred, this, [this](QProcess::ProcessError error) {
        // Every other error is followed by its end.
        if (error == QProcess::FailedToStart) {
            startAgainLater();
        }
    });
    m_helper->start(
        QStringLiteral("/usr/bin/python3"), {modules + QStringLiteral("/dewpoint_desktop"), QStringLiteral("states")});
}

void ShownItems::send(const QJsonObject &order)
{
    // What is known is asked for again after the start.
    if (m_isWaiting) {
        return;
    }
    if (!m_helper) {
        start();
    }
    // It may have failed to start.
    if (!m_helper) {
        return;
    }
    if (m_helper->bytesToWrite() > queueBytes) {
        startAgainLater();
        return;
    }
    m_helper->write(QJsonDocument(order).toJson(QJsonDocument::Compact) + '\n');
}

void ShownItems::readAnswers()
{
    m_rest += m_helper->readAllStandardOutput();
    const int end = m_rest.lastIndexOf('\n');
    if (end < 0) {
        return;
    }
    const QList<QByteArray> lines = m_rest.left(end).split('\n');
    m_rest.remove(0, end + 1);
    for (const QByteArray &line : lines) {
        take(QJsonDocument::fromJson(line).object());
    }
}

void ShownItems::take(const QJsonObject &answer)
{
    m_pauseSeconds = 1;
    if (answer.contains(QLatin1String("menu"))) {
        m_answeredMenu = answer.value(QLatin1String("menu")).toInt();
        m_offered = answer.value(QLatin1String("actions")).toArray();
        return;
    }
    const QString directory = answer.value(QLatin1String("directory")).toString();
    const auto known = m_known.find(directory);
    if (known == m_known.end()) {
        return;
    }
    const QJsonObject items = answer.value(QLatin1String("items")).toObject();
    for (auto item = items.begin(); item != items.end(); ++item) {
        // Null for an item that is not known any more.
        if (item.value().isNull()) {
            known->remove(item.key());
        } else {
            known->insert(item.key(), item.value().toArray().at(0).toString());
        }
    }
    // Afterwards: who is told may ask about other directories.
    for (auto item = items.begin(); item != items.end(); ++item) {
        const QString path = directory + QLatin1Char('/') + item.key();
        Q_EMIT changed(path, emblems(path));
    }
}

void ShownItems::endHelper()
{
    if (m_helper) {
        m_helper->disconnect(this);
        m_helper->kill();
        m_helper->deleteLater();
        m_helper = nullptr;
    }
    m_rest.clear();
}

void ShownItems::startAgainLater()
{
    endHelper();
    if (m_isWaiting) {
        return;
    }
    m_isWaiting = true;
    QTimer::singleShot(m_pauseSeconds * 1000, this, &ShownItems::showAgain);
    m_pauseSeconds = qMin(m_pauseSeconds * 2, longestPauseSeconds);
}

void ShownItems::showAgain()
{
    m_isWaiting = false;
    for (const QString &directory : qAsConst(m_order)) {
        m_known[directory].clear();
        send({{QStringLiteral("show"), directory}});
    }
}
